//! Unpublishes the postings of roles whose closing date is over.

use shared::model::RoleAndPosting;
use shared::store::{CommitError, Task, Transaction};

use crate::Job;

impl Job {
    /// Unpublishes the posting of the task's role. Does nothing if the role has another closing date meanwhile, which has a task
    /// of its own, or if its posting is not published.
    pub(crate) async fn unpublish(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        let Some(before) = store.find_role_and_posting(tenant, task.id).await? else {
            return self.discard(task).await;
        };
        let mut transaction = Transaction::new(tenant);
        transaction.delete_task(task);
        if before.role.closes_at == Some(task.due) {
            let posting = before.posting.clone().map(|posting| posting.unpublish(self.now));
            transaction.replace_role(&before, &RoleAndPosting { posting, ..before.clone() })?;
        }
        store.commit(transaction).await
    }
}
