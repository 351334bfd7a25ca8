use chat_event::payload::PermissionRequest;
use chat_store::{Options, Store};
use tokio::task::JoinSet;

use super::*;
use crate::state::{Settings, State};

#[tokio::test]
async fn one_reads_a_log_for_all_who_look_into_it_and_has_a_place_to_do_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let state = State::new(store, "t", 1, &[], Settings::default());
    let live = state.live_or_new(&SessionId::parse("s1").unwrap()).unwrap();
    let asked = PermissionRequest {
        request_id: "r1".to_owned(),
        ..PermissionRequest::default()
    };
    let event = ChatEvent::new("e1", 1, "s1", asked);
    live.session.append(vec![event], false, 1).unwrap();
    let requests = state.requests.clone();
    let mut finding = JoinSet::new();
    let places = requests.readers.take_all().await;
    let turn = requests.turns.of(live.session.id()).await;
    for _ in 0..8 {
        let (requests, live) = (requests.clone(), live.clone());
        let find = async move { requests.find(&live, Kind::Permission, "r1").await };
        finding.spawn(find);
    }
    let soon = Duration::from_millis(100);
    let found = tokio::time::timeout(soon, finding.join_next()).await;
    assert!(found.is_err(), "another reads the log");
    drop(turn);
    let found = tokio::time::timeout(soon, finding.join_next()).await;
    assert!(found.is_err(), "others read theirs");
    drop(places);
    finding
        .join_next()
        .await
        .unwrap()
        .unwrap()
        .unwrap()
        .unwrap();
    // None of the others reads it once more.
    let _places = requests.readers.take_all().await;
    for found in finding.join_all().await {
        assert!(found.unwrap().unwrap().request.is_some());
    }
}
