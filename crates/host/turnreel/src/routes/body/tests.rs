use chat_store::{Options, Store};
use futures_util::stream;
use tokio::task::JoinSet;

use super::*;
use crate::state::Settings;

#[tokio::test]
async fn bodies_that_are_begun_and_never_go_on_leave_room_for_those_that_do() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let settings = Settings {
        held_bytes: 2 * HELD_UNIT_BYTES,
        ..Settings::default()
    };
    let state = State::new(store, "t", 1, &[], settings);
    let beginning = |n_bytes: usize| {
        let begun = stream::iter([Ok::<_, std::io::Error>(vec![b' '; n_bytes])]);
        Body::from_stream(begun.chain(stream::pending()))
    };
    let read = async |state: State, body: Body| {
        super::read(&state, &HeaderMap::new(), body, 8 * HELD_UNIT_BYTES).await
    };
    let mut begun = JoinSet::new();
    for n in 0..100 {
        begun.spawn(read(state.clone(), beginning(1 + n * 40)));
    }
    let soon = Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, begun.join_next()).await.is_err());
    let whole = read(state.clone(), Body::from("[]")).await.unwrap();
    assert_eq!(&*whole, b"[]");
    // One that is whole has its part until it is stored.
    assert_eq!(state.held_units.available_permits(), 1);
    let long = read(state.clone(), beginning(HELD_UNIT_BYTES)).await;
    assert_eq!(long.unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
}
