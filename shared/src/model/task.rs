//! The kinds of background tasks.

use super::string_enum::string_enum;

string_enum! {
    /// The kind of a task.
    pub enum TaskKind {
        /// Start or check the call of a voice screen.
        Call = "call",
        /// Update the applications' copies of a role.
        Role = "role",
        /// Cancel the voice screens of a candidate that are marked so.
        Cancellation = "cancellation",
        /// Cancel the voice screens of a suspended organization.
        Suspension = "suspension",
        /// Remove what is left of an erased candidate.
        Erasure = "erasure",
        /// Erase the people whose retention period is over.
        Retention = "retention",
        /// Unpublish the posting of a role whose closing date is over.
        Closing = "closing",
        /// Look at a candidate's uploads whose tickets have ended, and delete files that the candidate does not have.
        Files = "files",
        /// Work on an act on several candidates, or on its undo.
        BulkAct = "bulk_act",
        /// Work on an import, or on its undo, or delete its files.
        Import = "import",
        /// Work on an export, or delete its files.
        Export = "export",
        /// Revoke an API key that another one replaces.
        KeyEnd = "key_end",
    }
}
