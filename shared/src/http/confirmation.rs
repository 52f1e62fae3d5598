//! Confirmations: what an assistant cannot undo, and what reaches people or becomes public, happens only after a member has
//! said so, and only once.
//!
//! The handler of a route asks, because it alone knows what will change. Whoever called it shows the question: a tool in the
//! client or on a page of the dashboard, the API on the page. The assistant never gets anything with which it could confirm
//! the call itself.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::api_request::AdmittedRequest;
use super::question::{AcceptedQuestion, Assistant, QUESTION_LIFE, Question, Unconfirmed};
use super::{ApiRequest, Error, SentInput, facts};
use crate::clock::later;
use crate::model::Actor;
use crate::store::{AnsweredQuestion, Confirmation, Confirmed};

impl AdmittedRequest {
    /// The name of the tool, or the route, and what the call says.
    fn said(&self) -> (&'static str, Map<String, Value>) {
        match &self.call.input {
            SentInput::Arguments { tool, fields } => (tool, fields.clone()),
            SentInput::Json(body) => (self.context.route, serde_json::from_str(body).unwrap_or_default()),
            SentInput::Form(_) => (self.context.route, Map::new()),
        }
    }

    /// The hash of the call, the same for a repetition by the same caller as long as the question is the same.
    fn hash(&self, name: &str, fields: &Map<String, Value>, question: &Question) -> String {
        let Actor { kind, id, .. } = &self.caller.actor;
        let caller = format!("{} {} {id:?}", self.caller.tenant, kind.as_str());
        let mut call = json!([caller, name, self.call.id, fields, question.summary, question.state]);
        call.sort_all_objects();
        URL_SAFE_NO_PAD.encode(Sha256::digest(call.to_string()))
    }
}

impl<I> ApiRequest<I> {
    /// Fails until a member has confirmed the call, if it is an assistant's. The commit of the request uses the confirmation
    /// up.
    ///
    /// All other checks come before, so that nobody confirms what cannot happen.
    pub async fn confirm(&self, question: impl FnOnce() -> Question) -> Result<(), Error> {
        let (store, tenant) = (self.context.store(), self.tenant());
        let accepted = match &self.admitted.call.assistant {
            None => return Ok(()),
            Some(Assistant::AtApi) => {
                let settings = store.find_organization_settings(tenant).await?;
                if !settings.unwrap_or_default().confirmations.requires_page(self.actor().kind) {
                    return Ok(());
                }
                None
            }
            Some(Assistant::Tool { accepted }) => accepted.as_ref(),
        };
        let (question, (name, fields)) = (question(), self.admitted.said());
        let hash = self.admitted.hash(name, &fields, &question);
        let confirmed = match accepted.filter(|accepted| accepted.hash == hash) {
            Some(AcceptedQuestion { id, until, .. }) => {
                let (id, target) = (id.clone(), question.target);
                Confirmed::InClient(AnsweredQuestion { id, until: *until, tool: name, target })
            }
            None => match store.find_confirmation(tenant, &hash, self.context.now()).await? {
                Some(Confirmation { confirmed_by: Some(_), version, .. }) => {
                    Confirmed::OnPage { hash, version }
                }
                found => {
                    let mut question = question;
                    question.facts.extend(facts::of_call(&fields));
                    let page = format!("{}/dashboard/confirmations/{hash}", self.context.base_url());
                    let is_stored = found.is_some();
                    let unconfirmed = Unconfirmed { question, hash, page, name, is_stored };
                    return Err(Error::ConfirmationRequired(Box::new(unconfirmed)));
                }
            },
        };
        self.admitted.confirmed.set(confirmed);
        Ok(())
    }

    /// Stores the question, so that a member can answer it on its page.
    pub async fn ask_on_page(&self, unconfirmed: &Unconfirmed) -> Result<(), Error> {
        if unconfirmed.is_stored {
            return Ok(());
        }
        let Question { summary, target, facts, .. } = &unconfirmed.question;
        let question = Confirmation {
            tool: unconfirmed.name.to_owned(),
            summary: summary.clone(),
            facts: facts.clone(),
            target: *target,
            actor: self.actor().clone(),
            member: self.member(),
            confirmed_by: None,
            until: later(self.context.now(), QUESTION_LIFE),
            version: 1,
        };
        Ok(self.context.store().put_confirmation(self.tenant(), &unconfirmed.hash, &question).await?)
    }
}
