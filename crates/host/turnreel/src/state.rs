//! What all requests share.
//!
//! What may be set is in `settings`, the sessions there are in `sessions`.

mod sessions;
mod settings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use chat_store::{SessionId, Store};
use chat_tiers::WarmReader;
use tokio::sync::{Semaphore, watch};

use crate::access::Access;
use crate::copies::Copied;
use crate::doors::Doors;
use crate::fetched::Fetching;
use crate::fleet::Fleet;
use crate::hosts::Hosts;
use crate::ingest;
use crate::list::List;
use crate::live::Live;
use crate::masking::Masking;
use crate::metrics::Metrics;
use crate::packed::PackedRows;
use crate::producers::Producers;
use crate::rate::Buckets;
use crate::readers::Readers;
use crate::removal::UnnamedBodies;
use crate::requests::Requests;
use crate::rings::Rings;
use crate::routes::{Insight, Readiness};
use crate::sandbox::Tasks;
use crate::seats::Seats;
use crate::tokens::Tokens;
use crate::uploads::Uploads;
use crate::watch::Asking;
pub use settings::Settings;

/// Who reads long bodies at once. Each has a thread, and where a body is in the object store, keeps it until it is here: fewer
/// than there are threads, so that who needs none of the store is served meanwhile.
const BODY_READERS: usize = 64;
/// As long as a body is waited for.
const BODY_PATIENCE: Duration = Duration::from_secs(20);

/// Room for bodies is given in pieces of this size.
pub(crate) const HELD_UNIT_BYTES: usize = 64 * 1024;

/// What the server is made of. Cloning it is cheap.
#[derive(Clone)]
pub struct State(Arc<Inner>);

#[doc(hidden)]
/// The parts of [`State`].
pub struct Inner {
    pub(crate) store: Store,
    pub(crate) access: Access,
    pub(crate) settings: Settings,
    pub(crate) list: List,
    /// What all sessions hold for those who follow.
    pub(crate) rings: Arc<Rings>,
    /// What the server counts of itself.
    pub(crate) metrics: Metrics,
    /// What was last found of the store.
    pub(crate) readiness: Readiness,
    /// What is worked out of whole logs.
    pub(crate) insight: Insight,
    /// What each sender may still send.
    pub(crate) rates: Buckets,
    /// Room for bodies in memory.
    pub(crate) held_units: Arc<Semaphore>,
    /// Room for bodies that are uploaded.
    pub(crate) uploads: Uploads,
    /// Room for those who read long bodies.
    pub(crate) body_readers: Readers,
    /// What agents ask, and the answers.
    pub(crate) requests: Arc<Requests>,
    /// How far each producer that numbers its batches has come.
    pub(crate) producers: Producers,
    /// What sandbox workers report.
    pub(crate) tasks: Tasks,
    /// Sockets of each token.
    pub(crate) seats: Arc<Seats<String>>,
    /// Connections of each address, and of all.
    pub(crate) doors: Doors,
    /// Room for sockets.
    pub(crate) sockets: Arc<Semaphore>,
    /// The agents whose own sessions are followed beside serving, by their names.
    pub(crate) followed: OnceLock<Vec<&'static str>>,
    /// Who follows them.
    pub(crate) following: OnceLock<Asking>,
    /// The stores that the logs are copied to.
    pub(crate) copied: OnceLock<Vec<Copied>>,
    /// The servers that serve the same sessions; none where this is the only one.
    pub(crate) fleet: OnceLock<Arc<Fleet>>,
    /// What the list says of sessions whose logs were packed away.
    pub(crate) packed: PackedRows,
    /// Where questions over many sessions are answered.
    pub(crate) warm: OnceLock<WarmReader>,
    /// Who masks secrets before they are stored, where they are to be.
    pub(crate) masking: OnceLock<Masking>,
    /// The address by which others reach the page, where that was said. No slash ends it.
    pub(crate) public_url: OnceLock<String>,
    /// What is fetched from the object store, where there is one.
    pub(crate) fetching: OnceLock<Arc<Fetching>>,
    /// Bodies that sessions named which were removed.
    pub(crate) unnamed: UnnamedBodies,
    /// True once the server is to stop.
    pub(crate) stopping: watch::Sender<bool>,
    live: Mutex<BTreeMap<SessionId, Arc<Live>>>,
}

impl State {
    /// The state of a server that listens on `port` and asks for `token`; pages of `embed_origins` may read too.
    pub fn new(
        store: Store,
        token: &str,
        port: u16,
        embed_origins: &[String],
        settings: Settings,
    ) -> Self {
        Self::answering_to(store, token, port, embed_origins, &[], None, settings)
    }

    /// As [`State::new`], for a server that a network or a proxy knows under the names `hosts`, each with its port; `public`
    /// is the one of them that its page has.
    pub fn answering_to(
        store: Store,
        token: &str,
        port: u16,
        embed_origins: &[String],
        hosts: &[String],
        public: Option<&str>,
        settings: Settings,
    ) -> Self {
        let rings = Rings::new(settings.ring_bytes);
        let sessions = store.sessions();
        let list = List::of(sessions.iter().map(|session| session.id().clone()));
        let live = (1..).zip(sessions).map(|(number, session)| {
            let id = session.id().clone();
            (id, Arc::new(Live::numbered(session, number, &rings)))
        });
        let live: BTreeMap<_, _> = live.collect();
        let state = State(Arc::new(Inner {
            packed: PackedRows::new(&store.packed(), &list),
            access: Access {
                tokens: Tokens::new(token, store.dir()),
                hosts: Hosts::new(port, embed_origins, hosts, public),
            },
            store,
            rates: Buckets::default(),
            held_units: Arc::new(Semaphore::new(settings.held_bytes / HELD_UNIT_BYTES)),
            uploads: Uploads::default(),
            body_readers: Readers::new(BODY_READERS, BODY_PATIENCE),
            requests: Arc::default(),
            producers: Producers::default(),
            tasks: Tasks::default(),
            seats: Arc::default(),
            doors: Doors::new(settings.connections, settings.connections_per_address),
            settings,
            list,
            rings,
            followed: OnceLock::new(),
            following: OnceLock::new(),
            copied: OnceLock::new(),
            fleet: OnceLock::new(),
            warm: OnceLock::new(),
            masking: OnceLock::new(),
            public_url: OnceLock::new(),
            fetching: OnceLock::new(),
            unnamed: UnnamedBodies::default(),
            metrics: Metrics::default(),
            readiness: Readiness::default(),
            insight: Insight::default(),
            sockets: Arc::new(Semaphore::new(settings.sockets)),
            stopping: watch::Sender::new(false),
            live: Mutex::new(live),
        }));
        ingest::follow_found(&state);
        state
    }

    /// The same, for those whom it owns.
    pub(crate) fn downgrade(&self) -> WeakState {
        WeakState(Arc::downgrade(&self.0))
    }
}

/// A [`State`] that ends with the server.
pub(crate) struct WeakState(Weak<Inner>);

impl WeakState {
    pub(crate) fn upgrade(&self) -> Option<State> {
        self.0.upgrade().map(State)
    }
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Ready once the server is to stop.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A sender that is gone has stopped too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
