//! Confirmations: what cannot be undone, reaches people or becomes public happens only after a member has said so.
//!
//! A modern client that can show forms asks the member, if the organization's rule allows that. The question travels to the
//! client and back in `requestState`, which is encrypted for one caller and one call. For any other client, the question is
//! stored, and the member answers it on a page of the dashboard. The assistant never gets anything with which it could
//! confirm the call itself. Any answer uses the question up.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::clock::{Timestamp, later};
use shared::http::Error;
use shared::model::Scope;
use shared::store::{AnsweredQuestion, Confirmation, Confirmed, Fact, Transaction};

use crate::facts::{fact, of_arguments};
use crate::failure::ToolError;
use crate::request::{McpRequest, Question};
use crate::rpc::RpcError;
use crate::tools;

/// The time in which a question must be answered.
const LIFE: SignedDuration = SignedDuration::from_mins(15);
/// The length of the random identifier of a question.
// 131 bits, so nobody can guess one.
const QUESTION_LENGTH: usize = 22;
/// The name of the question, and of the field with the answer.
const CONFIRM: &str = "confirm";
/// The field with the texts that the member reads.
const UNTRUSTED: &str = "untrusted";
/// The maximum number of characters of these texts in a form. Longer ones are on the page, because nobody can confirm what a
/// form cuts.
const FORM_TEXT: usize = 4_000;

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
    pub(crate) async fn confirm(&self, mut question: Question) -> Result<Confirmed, ToolError> {
        let call = hash(&format!("{}\n{}", self.caller(), self.fingerprint(&question.state)));
        question.facts.extend(of_arguments(self.arguments()));
        let length: usize = question.facts.iter().map(|fact| fact.text.chars().count()).sum();
        if length <= FORM_TEXT && self.may_ask_in_client().await? {
            self.confirm_in_client(&question, call).await
        } else {
            self.confirm_on_page(question, &call).await
        }
    }

    async fn may_ask_in_client(&self) -> Result<bool, Error> {
        if !self.client().shows_forms() || self.context().sealing_keys().is_none() {
            return Ok(false);
        }
        let settings = self.context().store().find_organization_settings(self.tenant()).await?;
        let rule = settings.unwrap_or_default().confirmations;
        Ok(!rule.requires_page(self.actor().kind))
    }

    async fn confirm_in_client(&self, question: &Question, call: String) -> Result<Confirmed, ToolError> {
        let asked = match self.state()? {
            Some(state) => serde_json::from_value::<AskedQuestion>(state).ok(),
            None => None,
        };
        // The call may have come to mean something else since the member was asked.
        let Some(AskedQuestion { id, until, .. }) = asked.filter(|asked| asked.call == call) else {
            return self.ask_client(question, call).await;
        };
        let decision = decision(self.response(CONFIRM));
        if matches!(decision, Decision::Missing) {
            return self.ask_client(question, call).await;
        }
        let store = self.context().store();
        if store.is_confirmation_used(self.tenant(), &id).await.map_err(Error::from)? {
            let message = "The question was answered already; call the tool again without the answer";
            return Err(RpcError::invalid_params(message).into());
        }
        let target = tools::target(self.arguments());
        let answered = AnsweredQuestion { id, until, tool: self.name(), target };
        if matches!(decision, Decision::Yes) {
            return Ok(Confirmed::InClient(answered));
        }
        let mut transaction = Transaction::new(self.tenant());
        transaction.refuse_question(&answered);
        store.commit(transaction).await.map_err(Error::from)?;
        Err(refused())
    }

    async fn ask_client(&self, question: &Question, call: String) -> Result<Confirmed, ToolError> {
        let id = self.context().random().token(QUESTION_LENGTH);
        let until = later(self.context().now(), LIFE);
        let field = json!({ "type": "boolean", "title": "Yes, do this", "default": false });
        let mut fields = json!({ CONFIRM: field });
        let texts = self.texts(question).await?;
        if !texts.is_empty() {
            fields[UNTRUSTED] = json!({
                "type": "string",
                "title": "What it is about",
                "description": "Data of strangers, never instructions",
                "readOnly": true,
                "default": texts,
            });
        }
        let schema = json!({ "type": "object", "properties": fields, "required": [CONFIRM] });
        let form = json!({ "mode": "form", "message": question.summary, "requestedSchema": schema });
        let question = json!({ CONFIRM: { "method": "elicitation/create", "params": form } });
        Err(self.ask(&question, Some(&json!(AskedQuestion { id, call, until })))?)
    }

    /// What the member reads in a form. Only a caller that may read candidates gets a candidate's name.
    async fn texts(&self, question: &Question) -> Result<String, Error> {
        let mut facts = Vec::new();
        if let Some((id, name)) = &question.candidate
            && self.scopes().contains(Scope::CandidatesRead)
        {
            self.record_reading(*id).await?;
            facts.push(fact("candidate", name));
        }
        facts.extend(question.facts.iter().cloned());
        let lines = facts.into_iter().map(|Fact { label, text }| format!("{label}: {text}"));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    async fn confirm_on_page(&self, question: Question, call: &str) -> Result<Confirmed, ToolError> {
        let (store, now) = (self.context().store(), self.context().now());
        let found = store.find_confirmation(self.tenant(), call, now).await.map_err(Error::from)?;
        let Question { summary, facts, .. } = question;
        match found {
            Some(Confirmation { confirmed_by: Some(_), version, .. }) => {
                return Ok(Confirmed::OnPage { hash: call.to_owned(), version });
            }
            Some(_) => {}
            None => {
                let question = Confirmation {
                    tool: self.name().to_owned(),
                    summary: summary.clone(),
                    facts,
                    target: tools::target(self.arguments()),
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
