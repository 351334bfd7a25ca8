//! A real PostgreSQL on a free port, in a folder of its own, stopped when the last test that uses it ends.
//!
//! It is found by `TURNREEL_POSTGRES_BIN`, by `PATH`, or where Debian keeps it. It does not run as root, and is then started as
//! the user `postgres`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::ports::free_port;

/// What the server's address holds, and nothing else may.
pub(crate) const PASSWORD: &str = "canary-of-the-database";

pub(crate) struct Postgres {
    bin: PathBuf,
    dir: TempDir,
    port: u16,
    /// Read by those who want it to be there, written by those who do something to it.
    in_use: RwLock<()>,
}

/// The one of this process, while some test holds it: starting takes seconds.
static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

static DATABASES: AtomicUsize = AtomicUsize::new(0);

impl Postgres {
    /// `None`, and said, where no PostgreSQL is installed.
    pub(crate) fn start() -> Option<Arc<Postgres>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(postgres) = shared.upgrade() {
            return Some(postgres);
        }
        let Some(bin) = find_bin() else {
            eprintln!("skipped: there is no PostgreSQL on this machine");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let password = dir.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            done(
                Command::new("chown")
                    .args(["-R", "postgres"])
                    .arg(dir.path()),
            );
        }
        let postgres = Postgres {
            bin,
            dir,
            port: free_port(),
            in_use: RwLock::default(),
        };
        let mut init = postgres.program("initdb");
        init.args(["--no-sync", "-A", "scram-sha-256", "-U", "postgres"])
            .args(["-E", "UTF8", "--locale=C", "-D"])
            .arg(postgres.data())
            .arg("--pwfile")
            .arg(&password);
        done(&mut init);
        postgres.begin();
        let postgres = Arc::new(postgres);
        *shared = Arc::downgrade(&postgres);
        Some(postgres)
    }

    /// While this is held, nobody does anything to the server.
    pub(crate) fn in_peace(&self) -> RwLockReadGuard<'_, ()> {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this is held, nobody else uses the server.
    pub(crate) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.in_use.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A database of its own.
    pub(crate) fn database(&self) -> Database {
        let name = format!("t{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        Database::at(self.url("postgres")).ask(&format!("CREATE DATABASE {name}"));
        Database::at(self.url(&name))
    }

    fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Starts it, or starts it again.
    pub(crate) fn begin(&self) {
        let mut start = self.program("pg_ctl");
        let dir = self.dir.path().display();
        let options = format!(
            "-k {dir} -p {} -c listen_addresses=127.0.0.1 -c fsync=off",
            self.port
        );
        start.args(["-w", "-s", "-o", &options, "-l"]);
        start.arg(self.dir.path().join("log"));
        start.arg("-D").arg(self.data()).arg("start");
        done(&mut start);
    }

    /// As if its machine had failed.
    pub(crate) fn stop_at_once(&self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["-w", "-s", "-m", "immediate", "-D"]);
        done(stop.arg(self.data()).arg("stop"));
    }

    /// The same signal for all of its processes.
    pub(crate) fn signal(&self, name: &str) {
        let Some(pid) = self.pid() else { return };
        let children = Command::new("ps")
            .args(["-o", "pid=", "--ppid", &pid])
            .output()
            .unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        for pid in children.split_whitespace().chain([&*pid]) {
            // A child may have ended meanwhile.
            let _ = Command::new("kill")
                .args([&format!("-{name}"), pid])
                .stderr(Stdio::null())
                .status();
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn pid(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        text.lines().next().map(|pid| pid.trim().to_owned())
    }

    fn program(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.signal("CONT");
        let Some(pid) = self.pid() else { return };
        for name in ["-QUIT", "-KILL"] {
            let _ = Command::new("kill").args([name, &pid]).status();
            let deadline = Instant::now() + Duration::from_secs(10);
            while Instant::now() < deadline {
                if !Path::new("/proc").join(&pid).exists() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// One database of it.
pub(crate) struct Database {
    pub(crate) url: String,
    runtime: Runtime,
    /// Connecting costs a debug build a tenth of a second.
    client: Mutex<Option<Client>>,
}

impl Database {
    fn at(url: String) -> Database {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        Database {
            url,
            runtime: runtime.worker_threads(1).enable_all().build().unwrap(),
            client: Mutex::default(),
        }
    }

    /// The rows of the last statement, as text; NULL is the empty text.
    pub(crate) fn ask(&self, sql: &str) -> Vec<Vec<String>> {
        self.try_ask(sql).unwrap()
    }

    pub(crate) fn try_ask(&self, sql: &str) -> Result<Vec<Vec<String>>, tokio_postgres::Error> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        self.runtime.block_on(async {
            let asked = match client.take().filter(|client| !client.is_closed()) {
                Some(asked) => asked,
                None => {
                    let (asked, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
                    tokio::spawn(connection);
                    asked
                }
            };
            let messages = asked.simple_query(sql).await?;
            *client = Some(asked);
            let mut rows = Vec::new();
            for message in messages {
                match message {
                    SimpleQueryMessage::Row(row) => rows.push(
                        (0..row.len())
                            .map(|at| row.get(at).unwrap_or_default().to_owned())
                            .collect(),
                    ),
                    SimpleQueryMessage::RowDescription(_) => rows.clear(),
                    _ => {}
                }
            }
            Ok(rows)
        })
    }
}

fn find_bin() -> Option<PathBuf> {
    if let Some(bin) = std::env::var_os("TURNREEL_POSTGRES_BIN") {
        return Some(bin.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut bins: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    let mut debians: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    debians.sort();
    bins.extend(debians.into_iter().rev());
    bins.into_iter().find(|bin| bin.join("initdb").is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

fn done(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
