//! Voice providers: the port that they implement, and the choice of the provider that calls a tenant's candidates.
//!
//! Each provider is one adapter that implements [`VoicePort`]. Vapi calls candidates over the telephone network; the
//! simulator makes up conversations. A new provider needs an adapter in its own file, a variant of [`VoiceProvider`],
//! and one line each in `voice_facts` and `voice_provider`.

mod dialogue;
mod ending;
mod message;
mod port;
mod signature;
mod simulator;
mod vapi;

use super::Providers;
use crate::model::{Mode, VoiceProvider};

use simulator::Simulator;
use vapi::Vapi;

pub use message::CallbackBody;
pub use port::{
    CallError, CallEvent, CallOrder, Callback, ErasedCall, Pending, StartError, VoiceFacts, VoicePort,
};
pub use signature::sign;
pub use simulator::simulated_report;

impl Providers {
    /// What the voice provider for a tenant in this mode does: the simulator, or the first configured provider. Returns
    /// `None` if no provider is configured.
    pub fn voice(&self, mode: Mode) -> Option<&'static VoiceFacts> {
        let simulated = self.simulates(mode);
        VoiceProvider::ALL
            .into_iter()
            .filter(|provider| (*provider == VoiceProvider::Simulator) == simulated)
            .find_map(|provider| self.voice_facts(provider))
    }

    /// What a voice provider does; `None` if it is not configured. Does not link its adapter.
    fn voice_facts(&self, provider: VoiceProvider) -> Option<&'static VoiceFacts> {
        match provider {
            VoiceProvider::Vapi => self.0.services.vapi.as_ref().map(|_| &vapi::FACTS),
            VoiceProvider::Simulator => Some(&simulator::FACTS),
        }
    }

    /// The adapter of a voice provider; `None` if the provider is not configured.
    pub fn voice_provider(&self, provider: VoiceProvider) -> Option<Box<dyn VoicePort + '_>> {
        let adapter: Box<dyn VoicePort + '_> = match provider {
            VoiceProvider::Vapi => Box::new(Vapi::configured(&self.0.services)?),
            VoiceProvider::Simulator => Box::new(Simulator::new(&self.0.simulator_secrets)),
        };
        Some(adapter)
    }

    /// The URL that a voice provider sends its callbacks to.
    pub fn callback_url(&self, provider: VoiceProvider, base_url: &str) -> String {
        let base_url = self.0.services.callback_url.as_deref().unwrap_or(base_url);
        format!("{base_url}/webhooks/voice/{}", provider.as_str())
    }
}
