//! Authentication memory of a connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::HeaderMap;
use subcat_engine::ApiKeyState;

use crate::auth::KnownKey;
use crate::request::{KnownHost, authorization, bearer_token, client_address};
use crate::runtime::{Moment, is_local_peer};
use crate::service::Service;

/// Memory of one connection: its peer, and checks that a repeated header field need not repeat.
///
/// INVARIANT: nothing in it belongs to a single request. A request may outlive its turn on the
/// connection ([`ConnectionMemory::detached`]), and is answered alike with an empty memory.
pub struct ConnectionMemory {
    peer: IpAddr,
    /// Address that the peer has reached; none on a Unix socket.
    reached: Option<SocketAddr>,
    last_key: Option<RememberedKey>,
    /// Apart from `last_key`: the same text means different things in a field and in a path.
    last_address_key: Option<RememberedKey>,
    host: KnownHost,
}

/// The last `Authorization` value, or key in a path, of a connection, and the key that it named.
struct RememberedKey {
    /// Generation of the key table at the look-up of the key.
    generation: u64,
    /// A copy: the header value itself would keep the whole buffer of its request alive.
    value: Box<[u8]>,
    known: Arc<KnownKey>,
}

/// Result of authenticating a request.
pub enum AuthResult<'a> {
    /// The request bears a valid key.
    Valid(&'a KnownKey),
    /// The request bears a key that has expired.
    Expired,
    /// The request bears no key, or an unknown or revoked one.
    Invalid,
}

impl ConnectionMemory {
    /// Memory of a new connection from this address.
    pub fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            reached: None,
            last_key: None,
            last_address_key: None,
            host: KnownHost::default(),
        }
    }

    /// This memory, of a connection that reached this address; none on a Unix socket.
    #[must_use]
    pub fn reached_at(self, reached: Option<SocketAddr>) -> Self {
        Self { reached, ..self }
    }

    /// Address that the peer has reached; none on a Unix socket.
    pub fn reached(&self) -> Option<SocketAddr> {
        self.reached
    }

    /// True on a Unix socket.
    pub fn is_local(&self) -> bool {
        is_local_peer(self.peer)
    }

    /// The last valid `Host` of the connection.
    pub fn known_host(&mut self) -> &mut KnownHost {
        &mut self.host
    }

    /// Address of the client, behind trusted proxies.
    pub fn client_address(&self, service: &Service, headers: &HeaderMap) -> IpAddr {
        client_address(self.peer, headers, &service.config().trusted_proxies)
    }

    /// True if the peer is a trusted proxy, like every peer on a Unix socket.
    pub fn is_proxied(&self, service: &Service) -> bool {
        let peer = self.peer.to_canonical();
        if is_local_peer(peer) {
            return true;
        }
        let config = service.config();
        let mut trusted = config.trusted_proxies.iter();
        trusted.any(|network| network.contains(&peer))
    }

    /// A memory of the same peer for a request that is answered after its turn on the connection.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self::new(self.peer).reached_at(self.reached)
    }

    /// Authenticates a request. Cost: one comparison if it bears the same value as the previous
    /// request; reads nothing that another worker writes, unless keys have changed.
    pub fn authenticate(
        &mut self,
        service: &Service,
        headers: &HeaderMap,
        now: Moment,
    ) -> AuthResult<'_> {
        let Some(value) = authorization(headers) else {
            return AuthResult::Invalid;
        };
        let value = value.as_bytes();
        let last = look_up(service, &mut self.last_key, value, bearer_token);
        let Some(last) = last else {
            return AuthResult::Invalid;
        };
        // Checked for each request: a remembered key may expire between two of them.
        let effective_now = service.effective_now(now.timestamp());
        match last.api_key.state(effective_now) {
            ApiKeyState::Active => AuthResult::Valid(last),
            ApiKeyState::Expired => {
                service.observe_time(effective_now);
                AuthResult::Expired
            }
            // A rolled key at the end of its grace period.
            ApiKeyState::Revoked => {
                service.observe_time(effective_now);
                AuthResult::Invalid
            }
        }
    }

    /// The key with the text of an address, taken from a path, if it opens addresses now. Cost: as
    /// of [`ConnectionMemory::authenticate`].
    pub fn authenticate_address(
        &mut self,
        service: &Service,
        text: &str,
        now: Moment,
    ) -> Option<&KnownKey> {
        let known = look_up(service, &mut self.last_address_key, text.as_bytes(), |_| {
            Some(text)
        })?;
        let effective_now = service.effective_now(now.timestamp());
        if known.api_key.state(effective_now) != ApiKeyState::Active {
            service.observe_time(effective_now);
            return None;
        }
        Some(known).filter(|known| known.api_key.scopes.is_address())
    }
}

/// The key that a value names: the remembered one, if it is the same value, or else that with the
/// text that `token_of` finds in the value, which is then remembered.
fn look_up<'a, 't>(
    service: &Service,
    remembered: &'a mut Option<RememberedKey>,
    value: &'t [u8],
    token_of: impl FnOnce(&'t [u8]) -> Option<&'t str>,
) -> Option<&'a KnownKey> {
    // The generation is read before the table: a key found in a newer table is at worst looked
    // up once more. The other order could remember a revoked key under the new generation.
    let generation = service.api_keys().generation();
    let is_same = |last: &RememberedKey| last.generation == generation && *last.value == *value;
    if !remembered.as_ref().is_some_and(is_same) {
        *remembered = token_of(value)
            .and_then(|text| service.api_keys().lookup(text))
            .map(|known| RememberedKey {
                generation,
                value: value.into(),
                known,
            });
    }
    remembered.as_ref().map(|last| &*last.known)
}
