//! A server in the test's own process, for what no option sets.

use std::net::{SocketAddr, TcpStream};

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tungstenite::WebSocket;

use super::socket::upgrade;
use super::{PATIENCE, token_command};

pub(crate) struct Inside {
    pub(crate) address: SocketAddr,
    dir: tempfile::TempDir,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Inside {
    /// The server's own token.
    pub(crate) const TOKEN: &str = "secret";

    /// One in a folder of its own.
    pub(crate) fn start(settings: turnreel::Settings) -> Self {
        let runtime = Runtime::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = chat_store::Store::open(dir.path(), chat_store::Options::default()).unwrap();
        let bound = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = bound.unwrap();
        let address = listener.local_addr().unwrap();
        let state = turnreel::State::new(store, Self::TOKEN, address.port(), &[], settings);
        let (stop, stopped) = oneshot::channel();
        let serving = runtime.spawn(turnreel::run(listener, state, async {
            let _ = stopped.await;
        }));
        Inside {
            address,
            dir,
            runtime,
            stop,
            serving,
        }
    }

    /// Makes a token that reads.
    pub(crate) fn make_token(&self, more: &[&str]) -> String {
        let what = [&["--scope", "read"][..], more].concat();
        let made = token_command(self.dir.path(), "create", &what);
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// A socket of who has this token, or why there is none.
    pub(crate) fn connect(&self, token: &str) -> Result<WebSocket<TcpStream>, String> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = upgrade(&self.address.to_string(), token);
        let connected = tungstenite::client(request, stream);
        let (socket, _) = connected.map_err(|why| why.to_string())?;
        Ok(socket)
    }

    /// Stops it, and waits until it has.
    pub(crate) fn stop(self) {
        self.stop.send(()).unwrap();
        self.runtime.block_on(self.serving).unwrap().unwrap();
    }
}
