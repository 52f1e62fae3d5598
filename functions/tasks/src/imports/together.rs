//! Rows of different people whom nobody knows yet are carried out together, as far as a transaction has room.

use std::collections::HashMap;

use shared::model::ImportVerdict;
use shared::services::imports::StoredRow;
use shared::store::{CommitError, Transaction};

use super::judging::Earlier;
use super::roles::Roles;
use super::rows::ReadRow;
use super::running::verdict_of;
use super::worker::Worker;
use crate::TaskError;

/// The number of rows that are carried out together: most have some 13 writes, and a transaction has room for 100.
const TOGETHER: usize = 6;

impl Worker<'_> {
    /// Carries out rows of different people: together, as far as they are still unknown, and else one by one.
    pub(super) async fn run_together(
        &self,
        roles: &Roles,
        rows: Vec<StoredRow>,
        before: &HashMap<u64, ImportVerdict>,
    ) -> Result<Vec<ImportVerdict>, TaskError> {
        let (mut done, mut alone) = (Vec::new(), Vec::new());
        let mut rows = self.read_rows(rows, Some(self.import.id)).await?.into_iter().peekable();
        while rows.peek().is_some() {
            // All that is written together has one time.
            let (moment, mut transaction, mut written) = (self.later(), self.transaction(), Vec::new());
            while let Some(row) = rows.next_if(|_| written.len() < TOGETHER) {
                match moment.begin_together(roles, row, before).await? {
                    Begun::Invalid(verdict) => done.push(verdict),
                    Begun::Alone(row) => alone.push(row),
                    Begun::Together(own, row, verdict) => match transaction.join(*own) {
                        Ok(()) => written.push((row, verdict)),
                        Err(_) => alone.push(row),
                    },
                }
            }
            if written.is_empty() {
                continue;
            }
            match self.store.commit(transaction).await {
                Ok(()) => done.extend(written.into_iter().map(|(_, verdict)| verdict)),
                // Which of them it is, and why, shows when they are carried out one by one.
                Err(CommitError::Stale | CommitError::Taken(_) | CommitError::RoleChanged) => {
                    Self::forget_roles(roles).await;
                    alone.extend(written.into_iter().map(|(row, _)| row));
                }
                Err(error) => return Err(error.into()),
            }
        }
        for row in alone {
            done.push(self.run_row(roles, &row, before.get(&row.row)).await?);
        }
        Ok(done)
    }

    /// What a row of somebody new writes.
    async fn begin_together(
        &self,
        roles: &Roles,
        row: ReadRow,
        before: &HashMap<u64, ImportVerdict>,
    ) -> Result<Begun, TaskError> {
        let ReadRow { row, read, is_new } = row;
        if !is_new {
            return Ok(Begun::Alone(row));
        }
        let before = before.get(&row.row);
        let (verdict, plan) = self.judge(roles, &row, read, Earlier::Nobody, before).await?;
        let Some(mut plan) = plan else { return Ok(Begun::Invalid(verdict)) };
        let draft = match self.begin_row(roles, &mut plan, &row, false).await {
            Ok(draft) if draft.made.is_done => draft,
            Ok(_) | Err(TaskError::NotCarriedOut(_) | TaskError::Commit(_)) => return Ok(Begun::Alone(row)),
            Err(error) => return Err(error),
        };
        let (transaction, _, made) = self.write(draft, &plan, None)?;
        let verdict = verdict_of(&row, verdict.messages, &made);
        Ok(Begun::Together(Box::new(transaction), row, verdict))
    }
}

/// What becomes of a row that might be carried out with others.
enum Begun {
    /// It is a part of what they write.
    Together(Box<Transaction>, StoredRow, ImportVerdict),
    /// It has become invalid.
    Invalid(ImportVerdict),
    /// It is carried out by itself.
    Alone(StoredRow),
}
