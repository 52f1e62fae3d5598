//! Messages after an action. The redirect has a keyword in its query, and the next page shows the message for it.

use shared::http::{Html, Reply};
use shared::model::RoleStatus;

/// Defines messages: their keywords and sentences.
macro_rules! messages {
    ($(#[$docs:meta])* $name:ident in $parameter:literal {
        $($(#[$about:meta])* $message:ident = $word:literal: $sentence:literal,)*
    }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$about])* $message,)*
        }

        impl $name {
            const fn word(self) -> &'static str {
                match self {
                    $(Self::$message => $word,)*
                }
            }

            /// Returns the text of the message.
            pub(crate) const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$message => $sentence,)*
                }
            }

            /// Returns the message with this keyword, if any.
            pub(crate) fn from_word(word: &str) -> Option<Self> {
                [$(Self::$message),*].into_iter().find(|message| message.word() == word)
            }

            /// Redirects to `path`, which shows the message.
            pub(crate) fn redirect_to(self, path: &str) -> Reply<Html> {
                let separator = if path.contains('?') { '&' } else { '?' };
                Reply::see_other(&format!("{path}{separator}{}={}", $parameter, self.word()))
            }
        }
    };
}

messages! {
    /// The result of an action; `done` in the query.
    Notice in "done" {
        /// An API key was revoked.
        KeyRevoked = "key-revoked": "API key revoked.",
        /// A connected application's access was revoked.
        AppRevoked = "app-revoked": "App disconnected. It no longer has access.",
        /// A connected application was narrowed to reading.
        AppNarrowed = "app-narrowed": "The app can only read now.",
        /// The narrowing of applications at a site was lifted.
        NarrowingLifted = "narrowing-lifted": "Lifted. Apps from there can be connected with all permissions again.",
        /// A webhook endpoint was edited.
        WebhookSaved = "webhook-saved": "Webhook endpoint saved.",
        /// A webhook endpoint was enabled.
        WebhookEnabled = "webhook-enabled": "Webhook endpoint enabled. It gets the events from now on. A replay brings earlier ones.",
        /// A webhook endpoint was disabled.
        WebhookDisabled = "webhook-disabled": "Webhook endpoint disabled. It gets no events.",
        /// A webhook endpoint was deleted.
        WebhookDeleted = "webhook-deleted": "Webhook endpoint deleted. It gets no events.",
        /// A test is due.
        WebhookPinged = "webhook-pinged": "The test is sent within a minute. Reload this page to see the answer.",
        /// A replay is due.
        WebhookReplaying = "webhook-replaying": "The replay begins within a minute. New events are sent first.",
        /// A delivery is due again.
        WebhookRedelivering = "webhook-redelivering": "The event is sent again within a minute. Reload this page to see the answer.",
        /// The rule for confirmations was changed.
        ConfirmationRuleSaved = "confirmation-rule-saved": "Rule for confirmations saved.",
        /// A call of an assistant was confirmed.
        CallConfirmed = "call-confirmed": "Confirmed. Tell the assistant to repeat the call.",
        /// A call of an assistant was refused.
        CallRefused = "call-refused": "Refused. The assistant cannot do this.",
        /// An X account was connected.
        XConnected = "x-connected": "X account connected.",
        /// The X account was disconnected.
        XDisconnected = "x-disconnected": "X account disconnected.",
        /// The X account was disconnected, but its tokens may still be valid.
        XNotRevoked = "x-not-revoked": "X account disconnected. X did not confirm that the access has ended: remove the app in the account's settings on X.",
        /// A WhatsApp number was connected.
        WhatsAppConnected = "whatsapp-connected": "WhatsApp number connected.",
        /// The WhatsApp number was disconnected.
        WhatsAppDisconnected = "whatsapp-disconnected": "WhatsApp number disconnected.",
        /// The countries that may be called were changed.
        CallCountriesChanged = "call-countries-changed": "Countries saved. Other countries are no longer called.",
        /// The career page was changed.
        CareerPageChanged = "career-page-changed": "Career page saved.",
        /// The logo was uploaded.
        LogoChanged = "logo-changed": "Logo saved.",
        /// The logo was removed.
        LogoRemoved = "logo-removed": "Logo removed.",
        /// The settings of the organization were changed.
        OrganizationChanged = "organization-changed": "Organization settings saved.",
        /// The privacy text was changed.
        PrivacyChanged = "privacy-changed": "Privacy text saved.",
        /// The limits of application forms were changed.
        ApplicationLimitsSaved = "application-limits-saved": "Application limits saved.",
        /// Application forms are counted from zero.
        ApplicationLimitsCleared = "application-limits-cleared": "Application forms are counted from zero again.",
        /// The retention rule was set.
        RetentionSet = "retention-set": "Retention rule saved. Nobody is erased before the next run.",
        /// The retention rule was switched off.
        RetentionOff = "retention-off": "Retention switched off. Nobody is erased automatically.",
        /// A member's role was changed.
        RoleChanged = "role-changed": "Member role changed.",
        /// A member was removed.
        MemberRemoved = "member-removed": "Member removed. Their sessions have ended, and the apps that they connected no longer have access.",
        /// The member's own password was changed.
        PasswordChanged = "password-changed": "Password changed. Your other sessions have ended.",
        /// One of the member's sessions was ended.
        SessionEnded = "session-ended": "Session ended.",
        /// The member's other sessions were ended.
        OtherSessionsEnded = "other-sessions-ended": "You are signed out everywhere else.",
        /// Notices were dismissed.
        NoticesDismissed = "notices-dismissed": "Notices dismissed.",
        /// The member's own second factor was turned off.
        SecondFactorRemoved = "second-factor-removed": "Second factor turned off.",
        /// A passkey was added to the member's own account.
        PasskeyAdded = "passkey-added": "Passkey added. You can sign in with it.",
        /// A passkey was removed from the member's own account.
        PasskeyRemoved = "passkey-removed": "Passkey removed. You can also delete it from your device or your password manager.",
        /// Another member's second factor was removed.
        SecondFactorReset = "second-factor-reset": "Second factor removed. The member now signs in with the password alone.",
        /// The organization's rule about second factors was changed.
        SecondFactorRuleSaved = "second-factor-rule-saved": "Rule for second factors saved.",
        /// A password was set with a single-use link.
        PasswordSet = "password-set": "Password set. You are signed in.",
        /// A password was set with a single-use link, and the member signs in with it and the second factor. Only the sign-in
        /// page shows this.
        PasswordReset = "password-reset": "Password set. Sign in with it and your second factor.",
        /// The member took too long to enter the code. Only the sign-in page shows this.
        SignInExpired = "sign-in-expired": "The sign-in took too long. Enter your password again.",
        /// The session has ended. Only the sign-in page shows this.
        SignedOut = "signed-out": "You are signed out.",
        /// The role was created and published with its posting.
        Posted = "posted": "Published. The job is on your career page.",
        /// The role was created as a draft.
        DraftSaved = "draft-saved": "Draft saved. Publish it when it is ready.",
        /// The role was published.
        RolePublished = "role-published": "Role published. It accepts applications.",
        /// The role was paused.
        RolePaused = "role-paused": "Role paused. It accepts no applications.",
        /// The role was resumed.
        RoleResumed = "role-resumed": "Role resumed. It accepts applications again.",
        /// The role was closed.
        RoleClosed = "role-closed": "Role closed. Its applications have ended, and it is not on the career page.",
        /// The closing of a role was undone.
        ClosingUndone = "closing-undone": "Undone. The role and its posting are as before, and its applications are active again. Calls that were cancelled stay cancelled: invite these people again.",
        /// The role was reopened.
        RoleReopened = "role-reopened": "Role reopened as a draft. Its applications are active again. Publish it to accept new ones.",
        /// The role was edited.
        RoleSaved = "role-saved": "Role saved.",
        /// The posting was created or edited.
        PostingSaved = "posting-saved": "Posting saved.",
        /// The questions of a posting were changed.
        QuestionsSaved = "questions-saved": "Questions saved. The form on the career page asks them from now on.",
        /// The posting was published.
        PostingPublished = "posting-published": "Posting published. It is on your career page while the role is open or paused.",
        /// The posting was unpublished.
        PostingUnpublished = "posting-unpublished": "Posting unpublished. It is no longer on your career page.",
        /// A job was posted to X.
        PostedToX = "posted-to-x": "Posted to X.",
        /// A candidate was added.
        CandidateAdded = "candidate-added": "Candidate added.",
        /// A candidate was edited.
        CandidateSaved = "candidate-saved": "Candidate saved.",
        /// A candidate applied for another role.
        Applied = "applied": "Application added.",
        /// A note was added.
        NoteAdded = "note-added": "Note added.",
        /// A note was edited.
        NoteSaved = "note-saved": "Note saved.",
        /// A file was added.
        FileAdded = "file-added": "File added.",
        /// A file was deleted.
        FileDeleted = "file-deleted": "File deleted.",
        /// A note was deleted.
        NoteDeleted = "note-deleted": "Note deleted.",
        /// A candidate was moved to another open stage.
        Moved = "moved": "Candidate moved.",
        /// A candidate was rejected.
        Rejected = "rejected": "Candidate rejected.",
        /// A candidate withdrew.
        Withdrawn = "withdrawn": "Withdrawal recorded.",
        /// The rejection reasons were changed.
        RejectionReasonsSaved = "rejection-reasons-saved": "Rejection reasons saved.",
        /// A candidate was hired.
        Hired = "hired": "Candidate hired.",
        /// A consent was recorded.
        ConsentRecorded = "consent-recorded": "Consent recorded.",
        /// What a form brought was accepted.
        OfferAccepted = "offer-accepted": "Details taken over from the form.",
        /// What a form brought was dismissed.
        OfferDismissed = "offer-dismissed": "Details dismissed. The history still has the form.",
        /// The time zone was changed.
        TimeZoneSaved = "time-zone-saved": "Time zone saved. All times are shown in it.",
        /// Something was done to several candidates.
        BulkDone = "bulk-done": "Done. You can undo it for a day.",
        /// Several candidates got a note.
        NotesAdded = "notes-added": "Note added to each of them. You can undo it for a day.",
        /// Nothing was done, because all of several candidates had the tag.
        TaggedBefore = "tagged-before": "They had this tag already.",
        /// What was done to several candidates was undone.
        BulkUndone = "bulk-undone": "Undone.",
        /// A list of candidates was saved.
        ViewSaved = "view-saved": "List saved. Your team finds it above the filters.",
        /// A saved list was deleted.
        ViewDeleted = "view-deleted": "Saved list deleted. The candidates stay.",
        /// The keyboard shortcuts were turned on or off.
        ShortcutsSaved = "shortcuts-saved": "Keyboard shortcuts saved.",
        /// A move was undone.
        Undone = "undone": "Undone. The candidate is back in the previous stage.",
        /// A candidate was invited to a voice screen.
        Invited = "invited": "Invited to a voice screen.",
        /// A voice screen was cancelled.
        ScreenCancelled = "screen-cancelled": "Voice screen cancelled. The candidate is not called.",
        /// The result of a voice screen was confirmed or overruled.
        ScreenReviewed = "screen-reviewed": "Decision saved.",
        /// An import runs.
        ImportRunning = "import-running": "The import runs. You can leave this page: it goes on by itself.",
        /// A file of an import was given to a row.
        ImportFileAssigned = "import-file-assigned": "The row gets the file.",
        /// An import was cancelled.
        ImportCancelled = "import-cancelled": "Import cancelled.",
        /// An import is being undone.
        ImportUndoing = "import-undoing": "The import is being undone. You can leave this page: it goes on by itself.",
        /// A legal hold was set.
        HoldSet = "hold-set": "Legal hold set. The candidate cannot be erased.",
        /// A legal hold was lifted.
        HoldLifted = "hold-lifted": "Legal hold lifted.",
        /// A candidate was erased.
        Erased = "erased": "Candidate erased. What is stored about them is removed within minutes.",
    }
}

messages! {
    /// Why an action failed; `failed` in the query.
    Alert in "failed" {
        /// The file of an import is not in the bucket.
        ImportNotUploaded = "import-not-uploaded": "The file is not here yet. Choose it, and upload it.",
        /// The member declined on X.
        XDeclined = "x-declined": "X account not connected: access was declined on X.",
        /// The callback from X came too late or belongs to another browser.
        XStale = "x-stale": "The connection to X took too long or was started in another browser. Connect the account again.",
        /// X reported an error or did not respond.
        XFailed = "x-failed": "The X account could not be connected. Try again in a moment.",
        /// The member tried to change their own role or to remove themselves.
        OwnRole = "own-role": "You can't change your own role or remove yourself. Ask another owner to do it.",
        /// The member tried to turn off a second factor that the organization requires.
        SecondFactorRequired = "second-factor-required": "Your organization requires a second factor, so you can't turn it off.",
        /// The member has as many passkeys as possible.
        TooManyPasskeys = "too-many-passkeys": "You have ten passkeys. Remove one before you add another.",
        /// The role or the posting had another status than the page showed.
        StatusChanged = "status-changed": "Nothing was done, because somebody changed the status in the meantime. This is the current state.",
        /// The last day to apply of the role is over.
        LastDayOver = "last-day-over": "Nothing was published, because the last day to apply is over. Edit the role to choose a later day.",
        /// The closing of a role could be undone only in part.
        OnlyReopened = "only-reopened": "The role is reopened, and its applications are active again. It could not be published as before, because its last day to apply is over or somebody changed it in the meantime. This is the current state.",
        /// A candidate was in another stage than the page showed.
        MovedMeanwhile = "moved-meanwhile": "Nothing was done, because somebody moved this candidate in the meantime. This is the current state.",
        /// What a form brought was not what the page showed.
        OfferChanged = "offer-changed": "Nothing was done, because the details from the form have changed in the meantime. These are the current ones.",
        /// A move was not possible.
        MoveRefused = "move-refused": "This move is not possible, because the application has ended or its role is closed.",
        /// The legal hold forbids an erasure.
        OnHold = "on-hold": "A legal hold on this candidate forbids the erasure. Lift it first.",
        /// A legal hold forbids that a note or a file is deleted.
        NothingDeleted = "nothing-deleted": "Nothing was deleted, because a legal hold on this candidate forbids it.",
        /// A file cannot be opened now.
        FileNotReady = "file-not-ready": "This file cannot be opened yet. A virus scanner has to look at it first, or the storage does not answer. Try again in a few minutes.",
        /// A candidate was saved, but the bucket did not take the resume.
        ResumeNotSaved = "resume-not-saved": "The candidate is saved, but the resume could not be stored. Edit the candidate and choose the file again.",
        /// The webhook endpoint was disabled.
        WebhookIsDisabled = "webhook-is-disabled": "Nothing was sent, because the webhook endpoint is disabled. Enable it first.",
        /// An act on several candidates had ended before it was stopped.
        NothingToStop = "nothing-to-stop": "This has ended already.",
        /// A list is too long for one act.
        ListTooLong = "list-too-long": "This list has more than 10,000 candidates. Filter it first, for example by stage.",
        /// Applications of everybody in a list of people were meant.
        ChooseRole = "choose-role": "Nothing was done, because people in this list may have applied for several roles. Choose a role or a list of applications, such as Open, or select people one by one.",
        /// What was done to several candidates was undone already, or too long ago.
        NothingToUndo = "nothing-to-undo": "There is nothing to undo any more.",
        /// Some of several candidates could not be brought back.
        PartlyUndone = "partly-undone": "Undone, except for people who have moved on or were erased, notes under a legal hold, and calls that have begun. They were left as they are.",
        /// The form of an API key was sent again.
        KeyShownOnce = "key-shown-once": "No second key was created: this form had been sent before. A key is shown only once. If you have not copied it, revoke it and create another one.",
        /// Nobody was selected.
        NobodySelected = "nobody-selected": "Select at least one candidate first.",
    }
}

impl Notice {
    /// Whether the message still holds for a role in this status. Somebody may have changed it after the action.
    pub(crate) const fn holds_for(self, status: RoleStatus) -> bool {
        match self {
            Self::RoleClosed => matches!(status, RoleStatus::Closed),
            Self::RolePaused => matches!(status, RoleStatus::Paused),
            Self::RoleReopened | Self::DraftSaved => matches!(status, RoleStatus::Draft),
            Self::Posted | Self::RolePublished | Self::RoleResumed => matches!(status, RoleStatus::Open),
            Self::ClosingUndone => !matches!(status, RoleStatus::Closed),
            _ => true,
        }
    }

    /// Whether only the sign-in page shows the message.
    pub(crate) const fn is_for_sign_in(self) -> bool {
        matches!(self, Self::SignedOut | Self::PasswordReset | Self::SignInExpired)
    }
}
