//! Several servers behind one Redis.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ports::free_address;
use super::redis::Redis;
use super::{PROGRAM, Server};

/// What a fleet may take for anything, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

pub(crate) struct Fleet {
    pub(crate) redis: Redis,
    pub(crate) servers: Vec<Server>,
    /// What each server is told beside, and its environment.
    more: Vec<String>,
    environment: Vec<(&'static str, String)>,
    _dirs: Vec<tempfile::TempDir>,
}

impl Fleet {
    /// `None`, and said, where no Redis is installed.
    pub(crate) fn start(n_servers: usize) -> Option<Fleet> {
        Self::start_with(n_servers, &[], &[])
    }

    /// The same, with more arguments and what the environment has.
    pub(crate) fn start_with(
        n_servers: usize,
        more: &[&str],
        environment: &[(&'static str, &str)],
    ) -> Option<Fleet> {
        let redis = Redis::start()?;
        let environment = environment.iter();
        let mut fleet = Fleet {
            redis,
            servers: Vec::new(),
            more: more.iter().map(|word| (*word).to_owned()).collect(),
            environment: environment
                .map(|(name, is)| (*name, (*is).to_owned()))
                .collect(),
            _dirs: Vec::new(),
        };
        (0..n_servers).for_each(|_| fleet.add());
        Some(fleet)
    }

    pub(crate) fn add(&mut self) {
        let dir = tempfile::tempdir().unwrap();
        let server = self.start_one(dir.path(), &free_address());
        self.servers.push(server);
        self._dirs.push(dir);
    }

    pub(crate) fn restart(&mut self, nth: usize) {
        let address = self.servers[nth].address();
        let data = self.servers[nth].data.clone();
        self.servers[nth] = self.start_one(&data, &address);
    }

    pub(crate) fn start_one(&self, data: &Path, address: &str) -> Server {
        let mut command = Command::new(PROGRAM);
        command.envs(self.environment.iter().map(|(name, is)| (name, is)));
        let mut more: Vec<&str> = self.more.iter().map(String::as_str).collect();
        let (advertise, redis) = (format!("http://{address}"), self.redis.url());
        more.extend([
            "--redis",
            &redis,
            "--advertise",
            &advertise,
            "--no-examples",
        ]);
        more.extend(["--take-over-after", "4"]);
        Server::start_by(command, data, address, &more).expect("the server says that it is ready")
    }

    /// Posts until it is taken: a fleet that has just begun gives no homes yet.
    pub(crate) fn post(&self, nth: usize, session: &str, events: &Value) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (status, answer) = self.servers[nth].post(session, events);
            if status == 200 {
                return answer;
            }
            assert_eq!(status, 503, "{answer}");
            assert_eq!(answer["error"]["code"], "home_away", "{answer}");
            assert!(Instant::now() < deadline, "{answer}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Until all servers that are given have the same of the session, up to `head`.
    pub(crate) fn wait_until_same(&self, servers: &[usize], session: &str, head: u64) {
        until(&format!("{session} is the same everywhere"), || {
            let logs: Vec<_> = servers
                .iter()
                .map(|&nth| log(&self.servers[nth], session))
                .collect();
            let first = logs[0].clone()?;
            let is_there = first.1.last().is_some_and(|event| event["seq"] == head);
            let all = logs.iter().all(|log| log.as_ref() == Some(&first));
            (is_there && all).then_some(())
        });
    }
}

/// The epoch and all events of a session as a server has them; `None` where it has not the session.
pub(crate) fn log(server: &Server, session: &str) -> Option<(Value, Vec<Value>)> {
    let (mut after, mut events) = (0, Vec::new());
    loop {
        let path = format!("/api/v1/sessions/{session}/events?bodies=full&after={after}");
        let (status, page) = server.get(&path);
        if status != 200 {
            return None;
        }
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        after = page["next"].as_u64().unwrap();
        if after >= page["head"].as_u64().unwrap() {
            return Some((page["epoch"].clone(), events));
        }
    }
}

pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
