//! How a tool asks a member before a handler does what cannot be undone, reaches people or becomes public.
//!
//! A modern client that can show forms asks the member, if the organization's rule allows that. The question travels to the
//! client and back in `requestState`, which is encrypted for one caller and one call. For any other client, the question is
//! stored, and the member answers it on a page of the dashboard. Any answer in the client uses the question up.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::clock::{Timestamp, later};
use shared::http::facts::fact;
use shared::http::{
    AcceptedQuestion, ApiRequest, Assistant, Error, HandlerCall, QUESTION_LIFE, Question, Reply, Unconfirmed,
};
use shared::model::{AuditTargetKind, Scope, ToolOutcome};
use shared::store::{AnsweredQuestion, CommitError, Fact, Transaction};

use crate::failure::ToolError;
use crate::request::McpRequest;
use crate::rpc::RpcError;
use crate::tools;

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

impl McpRequest {
    /// Calls a handler that asks a member first. The first answer is the question; the same call succeeds, once, after the
    /// member has confirmed it.
    pub async fn carry_out_confirmed<I, O, H, F>(
        &self,
        call: HandlerCall,
        handler: H,
    ) -> Result<Value, ToolError>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        // A call that happened must not be confirmed again.
        if let Some(reply) = self.find_reply(&call).await? {
            return Ok(reply);
        }
        let accepted = self.accepted().await?;
        let assistant = Some(Assistant::Tool { accepted: accepted.clone() });
        let error = match self.carry_out(HandlerCall { assistant, ..call }, handler).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        // A conflict runs the call again.
        if let (Some(AcceptedQuestion { id, until, .. }), false) = (accepted, error.is_conflict()) {
            match self.use_up(self.answered(id, until), ToolOutcome::Confirmed).await {
                // The call itself has done so before it failed.
                Ok(()) | Err(CommitError::Stale) => {}
                Err(error) => return Err(Error::from(error).into()),
            }
        }
        match error {
            ToolError::Failed(Error::ConfirmationRequired(unconfirmed)) => {
                Err(self.ask_member(&unconfirmed).await?)
            }
            error => Err(error),
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

    /// The question to which the member has said yes in the client. Fails if the member has said no, or if the question was
    /// answered before.
    async fn accepted(&self) -> Result<Option<AcceptedQuestion>, ToolError> {
        let Some(state) = self.state()? else { return Ok(None) };
        let Ok(AskedQuestion { id, call, until }) = serde_json::from_value(state) else { return Ok(None) };
        let Some(is_accepted) = decision(self.response(CONFIRM)) else { return Ok(None) };
        if !self.may_ask_in_client().await? {
            return Ok(None);
        }
        let store = self.context().store();
        if store.is_confirmation_used(self.tenant(), &id).await.map_err(Error::from)? {
            let message = "The question was answered already; call the tool again without the answer";
            return Err(RpcError::invalid_params(message).into());
        }
        if is_accepted {
            return Ok(Some(AcceptedQuestion { id, hash: call, until }));
        }
        self.use_up(self.answered(id, until), ToolOutcome::Refused).await.map_err(Error::from)?;
        Err(ToolError::Rejected(
            "The member did not confirm the call, so nothing was done. Do not repeat it.".to_owned(),
        ))
    }

    fn answered(&self, id: String, until: Timestamp) -> AnsweredQuestion {
        AnsweredQuestion { id, until, tool: self.name(), target: tools::target(self.arguments()) }
    }

    async fn use_up(&self, question: AnsweredQuestion, outcome: ToolOutcome) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(self.tenant());
        transaction.use_question(&question, outcome);
        self.context().store().commit(transaction).await
    }

    /// Asks the member, in the client if that is allowed and shows everything.
    async fn ask_member(&self, unconfirmed: &Unconfirmed) -> Result<ToolError, ToolError> {
        let length: usize = unconfirmed.question.facts.iter().map(|fact| fact.text.chars().count()).sum();
        if length <= FORM_TEXT && self.may_ask_in_client().await? {
            return self.ask_in_client(unconfirmed).await;
        }
        self.ask_on_page(unconfirmed).await?;
        let Unconfirmed { question, page, .. } = unconfirmed;
        Ok(ToolError::Unconfirmed(format!(
            "Not done yet: {} A member has to confirm this within 15 minutes, signed in, on this page: {page} Show the \
             link to the member. Repeat the same call after the member has confirmed it; you cannot confirm it \
             yourself.",
            question.summary
        )))
    }

    async fn ask_in_client(
        &self,
        Unconfirmed { question, hash, .. }: &Unconfirmed,
    ) -> Result<ToolError, ToolError> {
        let id = self.context().random().token(QUESTION_LENGTH);
        let until = later(self.context().now(), QUESTION_LIFE);
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
        self.ask(&question, Some(&json!(AskedQuestion { id, call: hash.clone(), until })))
    }

    /// What the member reads in a form. Only a caller that may read candidates gets a candidate's name.
    async fn texts(&self, question: &Question) -> Result<String, Error> {
        let mut facts = Vec::new();
        let candidate = question.target.filter(|target| target.kind == AuditTargetKind::Candidate);
        if let (Some(name), Some(id)) = (&question.candidate, candidate.and_then(|target| target.id))
            && self.scopes().contains(Scope::CandidatesRead)
        {
            self.record_reading(id).await?;
            facts.push(fact("candidate", name));
        }
        facts.extend(question.facts.iter().cloned());
        let lines = facts.into_iter().map(|Fact { label, text }| format!("{label}: {text}"));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Whether the member has said yes or no; `None` if the response is not what the question asks for.
fn decision(response: Option<&Value>) -> Option<bool> {
    let response = response?;
    match (response["action"].as_str()?, &response["content"][CONFIRM]) {
        ("accept", Value::Bool(said)) => Some(*said),
        ("decline" | "cancel", _) => Some(false),
        _ => None,
    }
}
