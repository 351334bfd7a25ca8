//! A real Redis on a free port, in a folder of its own, stopped when it is let go.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Client, Connection, FromRedisValue};
use tempfile::TempDir;

use super::PATIENCE;
use super::ports::free_port;

/// What the server's address holds, and nothing else may.
pub(crate) const PASSWORD: &str = "canary-of-the-password";

pub(crate) struct Redis {
    pub(crate) child: Child,
    port: u16,
    _dir: TempDir,
}

impl Redis {
    /// `None`, and said, where no Redis is installed.
    pub(crate) fn start() -> Option<Redis> {
        let port = free_port();
        let dir = tempfile::tempdir().unwrap();
        let Some(child) = run(port, dir.path()) else {
            eprintln!("skipped: there is no redis-server on this machine");
            return None;
        };
        let redis = Redis {
            child,
            port,
            _dir: dir,
        };
        redis.wait();
        Some(redis)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{}/", self.port)
    }

    /// Killed; what it had is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Started again on the same port, with nothing in it.
    pub(crate) fn restart(&mut self) {
        self.child = run(self.port, self._dir.path()).unwrap();
        self.wait();
    }

    pub(crate) fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_ask(words).unwrap()
    }

    pub(crate) fn try_ask<T: FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut asking = redis::cmd(words[0]);
        for word in &words[1..] {
            asking.arg(*word);
        }
        asking.query(&mut self.connection()?)
    }

    fn connection(&self) -> redis::RedisResult<Connection> {
        Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(5))
    }

    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.try_ask::<String>(&["PING"]).is_err() {
            assert!(Instant::now() < deadline, "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(port: u16, dir: &std::path::Path) -> Option<Child> {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--requirepass", PASSWORD, "--port", &port.to_string()])
        .arg("--dir")
        .arg(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}
