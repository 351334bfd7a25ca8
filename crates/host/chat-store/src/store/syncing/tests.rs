use super::*;
use crate::Options;

#[test]
fn who_asks_for_all_to_be_durable_waits_for_what_another_has_begun() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        // As the thread that is at it each second, and a disk that takes long.
        let turn = locked(&store.inner.sync_turn);
        scope.spawn(|| {
            store.sync();
            done.send(()).unwrap();
        });
        let early = is_done.recv_timeout(Duration::from_millis(200));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(turn);
        is_done.recv_timeout(Duration::from_secs(30)).unwrap();
    });
}
