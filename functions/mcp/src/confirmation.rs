//! Confirmations: what cannot be undone or reaches people happens only after a member has said so.
//!
//! A modern client that can show forms asks the member. The question travels to the client and back in `requestState`,
//! which is encrypted for one caller and one call. For any other client, the question is stored, and the member answers it
//! on a page of the dashboard. The assistant never gets anything with which it could confirm the call itself.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::clock::{Timestamp, later};
use shared::http::Error;
use shared::store::{Confirmation, Confirmed};

use crate::failure::ToolError;
use crate::request::{McpRequest, Question};
use crate::rpc::RpcError;

/// The time in which a question must be answered.
const LIFE: SignedDuration = SignedDuration::from_mins(15);
/// The length of the random identifier of a question.
// 131 bits, so nobody can guess one.
const QUESTION_LENGTH: usize = 22;
/// The name of the question, and of its only field.
const CONFIRM: &str = "confirm";

/// A question that the client carries.
#[derive(Serialize, Deserialize)]
struct AskedQuestion {
    id: String,
    /// The hash of the call.
    call: String,
    until: Timestamp,
}

/// What the member said.
enum Decision {
    Yes,
    No,
    /// Nothing that the question asks for.
    Missing,
}

impl McpRequest {
    /// Asks the member to confirm the call, unless that has happened. The first answer ends the call with the question;
    /// the same call succeeds, once, after the member has confirmed it.
    pub(crate) async fn confirm(&self, question: &Question) -> Result<Confirmed, ToolError> {
        let Question { summary, action } = question;
        let call = hash(&format!("{}\n{}", self.caller(), self.fingerprint(action)));
        if self.client().shows_forms() && self.context().sealing_keys().is_some() {
            self.confirm_in_client(summary, call).await
        } else {
            self.confirm_on_page(summary, &call).await
        }
    }

    async fn confirm_in_client(&self, summary: &str, call: String) -> Result<Confirmed, ToolError> {
        let asked = match self.state()? {
            Some(state) => serde_json::from_value::<AskedQuestion>(state).ok(),
            None => None,
        };
        // The call may have come to mean something else since the member was asked.
        let Some(AskedQuestion { id, until, .. }) = asked.filter(|question| question.call == call) else {
            return self.ask_client(summary, call);
        };
        match decision(self.response(CONFIRM)) {
            Decision::Missing => self.ask_client(summary, call),
            Decision::No => Err(refused()),
            Decision::Yes => {
                let used = self.context().store().is_confirmation_used(self.tenant(), &id).await;
                if used.map_err(Error::from)? {
                    let message =
                        "The member's confirmation was used already; call the tool again without it";
                    return Err(RpcError::invalid_params(message).into());
                }
                Ok(Confirmed::InClient { question: id, until })
            }
        }
    }

    fn ask_client(&self, summary: &str, call: String) -> Result<Confirmed, ToolError> {
        let id = self.context().random().token(QUESTION_LENGTH);
        let until = later(self.context().now(), LIFE);
        let field = json!({ "type": "boolean", "title": "Yes, do this", "default": false });
        let schema = json!({ "type": "object", "properties": { CONFIRM: field }, "required": [CONFIRM] });
        let form = json!({ "mode": "form", "message": summary, "requestedSchema": schema });
        let question = json!({ CONFIRM: { "method": "elicitation/create", "params": form } });
        Err(self.ask(&question, Some(&json!(AskedQuestion { id, call, until })))?)
    }

    async fn confirm_on_page(&self, summary: &str, call: &str) -> Result<Confirmed, ToolError> {
        let (store, now) = (self.context().store(), self.context().now());
        let found = store.find_confirmation(self.tenant(), call, now).await.map_err(Error::from)?;
        match found {
            Some(Confirmation { confirmed_by: Some(_), version, .. }) => {
                return Ok(Confirmed::OnPage { hash: call.to_owned(), version });
            }
            Some(_) => {}
            None => {
                let question = Confirmation {
                    tool: self.name().to_owned(),
                    summary: summary.to_owned(),
                    actor: self.actor().clone(),
                    member: self.member(),
                    confirmed_by: None,
                    until: later(now, LIFE),
                    version: 1,
                };
                store.put_confirmation(self.tenant(), call, &question).await.map_err(Error::from)?;
            }
        }
        let base_url = self.context().base_url();
        Err(ToolError::Unconfirmed(format!(
            "Not done yet: {summary} A member has to confirm this within 15 minutes, signed in, on this page: \
             {base_url}/dashboard/confirmations/{call} Show the link to the member. Repeat the same call after the \
             member has confirmed it; you cannot confirm it yourself."
        )))
    }
}

fn decision(response: Option<&Value>) -> Decision {
    let Some(response) = response else { return Decision::Missing };
    match (response["action"].as_str(), &response["content"][CONFIRM]) {
        (Some("accept"), Value::Bool(true)) => Decision::Yes,
        (Some("accept"), Value::Bool(false)) | (Some("decline" | "cancel"), _) => Decision::No,
        _ => Decision::Missing,
    }
}

fn refused() -> ToolError {
    ToolError::Rejected(
        "The member did not confirm the call, so nothing was done. Do not repeat it.".to_owned(),
    )
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
