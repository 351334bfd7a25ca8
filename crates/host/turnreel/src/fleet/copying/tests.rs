use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn news(session: &str) -> News {
    News {
        session: SessionId::parse(session).unwrap(),
        epoch: "e".to_owned(),
        head: 1,
        writer: "w".to_owned(),
    }
}

#[tokio::test]
async fn sessions_that_are_never_quiet_keep_no_other_from_being_copied() {
    let heard = Arc::<Heard>::default();
    let is_copied = Arc::<AtomicBool>::default();
    for nth in 0..BESIDE {
        let told = news(&format!("busy{nth}"));
        assert!(heard.is_first(told.clone()));
        let (heard, is_copied) = (heard.clone(), is_copied.clone());
        tokio::spawn(async move {
            let copying = Copying {
                heard: &heard,
                session: &told.session,
            };
            while let Some((told, _room)) = copying.next().await {
                tokio::task::yield_now().await;
                if !is_copied.load(Ordering::Relaxed) {
                    assert!(!heard.is_first(told), "one task copies it");
                }
            }
        });
    }
    tokio::task::yield_now().await;
    let quiet = news("quiet");
    assert!(heard.is_first(quiet.clone()));
    let copying = Copying {
        heard: &heard,
        session: &quiet.session,
    };
    let next = tokio::time::timeout(Duration::from_secs(60), copying.next()).await;
    assert_eq!(next.unwrap().map(|(told, _)| told), Some(quiet.clone()));
    is_copied.store(true, Ordering::Relaxed);
    assert!(copying.next().await.is_none());
    assert!(
        heard.is_first(quiet.clone()),
        "the next to hear begins another task"
    );
}
