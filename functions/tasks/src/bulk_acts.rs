//! Works on acts on several candidates, and on their undo, a part in each turn.

use shared::clock::later;
use shared::http::{Error, OnBehalf};
use shared::model::{Actor, AuditActor, BulkAct, BulkState, BulkStop};
use shared::store::{AuditOrigin, CommitError, Task, Transaction};

use crate::{Job, TaskError};

impl Job {
    /// Gives the next part of an act its turn. If more parts follow, a task for them is due now: it comes after those of others
    /// that wait. A run that is killed is repeated: nothing is done twice, and nobody is left out.
    pub(crate) async fn work_on_act(&self, task: &Task) -> Result<(), TaskError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        let found = store.find_bulk_act(tenant, task.role, task.id).await.map_err(CommitError::from)?;
        let Some(act) = found.filter(|act| act.task_due == Some(task.due)) else {
            return Ok(self.discard(task).await?);
        };
        let organization = store.find_organization(tenant).await.map_err(CommitError::from)?;
        let Some(organization) = organization.map(|found| found.organization) else {
            return Ok(self.discard(task).await?);
        };
        if act.state == BulkState::Running
            && let Some(why) = self.reason_to_stop(&act, organization.suspended, task).await?
        {
            return Ok(self.replace_act(&act, &act.stop(why, self.now), task).await?);
        }
        let actor = act.undone_by.clone().unwrap_or_else(|| act.actor.clone());
        let member = actor.id.map_or_else(AuditActor::system, AuditActor::member);
        let origin = AuditOrigin::inside(member, self.environment.clock.clone(), self.ids.clone());
        let origin = origin.caused_by(task.caused_by.clone());
        let moment = (self.ids.clone(), self.now);
        let caller = OnBehalf::in_task(
            self.environment.clone(),
            moment,
            origin,
            (organization, actor),
            act.base_url.clone(),
        );
        let mut current = act.clone();
        while current.is_working() && current.position == act.position {
            current = shared::handlers::bulk_acts::work_on(&caller, &current).await.map_err(task_error)?;
        }
        let due = self.environment.clock.now();
        if current.is_working() && current.task_due == Some(task.due) && due > task.due {
            let next = BulkAct { task_due: Some(due), version: current.version + 1, ..current.clone() };
            self.replace_act(&current, &next, task).await?;
        }
        Ok(())
    }

    /// Why an act must not go on.
    async fn reason_to_stop(
        &self,
        act: &BulkAct,
        is_suspended: bool,
        task: &Task,
    ) -> Result<Option<BulkStop>, CommitError> {
        if self.now > later(act.at, BulkAct::LONGEST) {
            return Ok(Some(BulkStop::Late));
        }
        let Actor { id: Some(member), .. } = act.actor else { return Ok(None) };
        let organization = task.tenant().organization;
        let is_member = self.environment.store.find_member(organization, member).await?.is_some();
        Ok((is_suspended || !is_member).then_some(BulkStop::Rights))
    }

    async fn replace_act(&self, before: &BulkAct, after: &BulkAct, task: &Task) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(task.tenant());
        transaction.replace_bulk_act(before, after)?;
        self.environment.store.commit(transaction).await
    }
}

fn task_error(error: Error) -> TaskError {
    match error {
        Error::Store(error) => CommitError::from(error).into(),
        Error::Commit(error) => error.into(),
        error => TaskError::NotCarriedOut(error.to_string()),
    }
}
