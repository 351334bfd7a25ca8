use std::time::Duration;

use chat_store::{Options, Store};

use super::*;
use crate::state::Settings;

#[tokio::test]
async fn a_numbered_batch_is_stored_once_though_its_sender_goes_away_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let state = State::new(store, "t", 1, &[], Settings::default());
    let live = state.live_or_new(&SessionId::parse("s1").unwrap()).unwrap();
    let send = || {
        let headers = [
            ("content-type", "application/json"),
            ("producer-id", "p"),
            ("producer-epoch", "1"),
            ("producer-seq", "5"),
        ];
        let headers = headers.map(|(name, value)| {
            let name = header::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        post(
            FromState(state.clone()),
            Extension(Arc::new(Grant::everything(1))),
            Path("s1".to_owned()),
            Query(PostQuery { atomic: None }),
            HeaderMap::from_iter(headers),
            Body::from(r#"[{"timestamp":1,"type":"user_message","payload":{"text":"Hi"}}]"#),
        )
    };
    // As long as the disk is busy.
    let writer = live.writer.lock().await;
    let gone = tokio::time::timeout(Duration::from_millis(500), send()).await;
    assert!(gone.is_err(), "it waits");
    drop(writer);
    let Json(answer) = send().await.unwrap();
    assert!(answer.refused().is_empty());
    assert_eq!(live.session.position().1, 1);
}
