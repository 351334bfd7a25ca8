//! Pictures and sound that were sent along or came with a result: shown from their data alone, live and from a file alike,
//! enlarged and played when the reader asks.

use serde_json::json;

use crate::browser::Tab;
use crate::compare::difference;
use crate::made_logs::{PICTURE, Writer};
use crate::sessions::{BothWays, UNFOLD, n_bodies_fetched, with_server};
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// What the log names elsewhere is nowhere asked for.
fn assert_asks_nobody_else(tab: &Tab) {
    let requests = tab.requests();
    let mut elsewhere = requests
        .iter()
        .filter(|sent| sent.url.contains("example.com"));
    assert!(
        elsewhere.next().is_none(),
        "nothing is asked of anybody else"
    );
}

#[test]
fn a_picture_is_shown_the_same_live_and_dropped_and_what_only_claims_to_be_one_is_not() {
    with_server("pictures", 120, async |visit, program| {
        let mut writer = Writer::new("pictures");
        let place = json!({"turnId": "t1"});
        writer.event("turn_start", &place, &json!({"trigger": "user"}));
        // What is behind the end of a picture changes nothing, and makes this one travel by reference.
        let long = format!("{}{}", PICTURE.trim_end_matches('='), "A".repeat(40_000));
        let script =
            "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4=";
        let attachments = json!([
            {"name": "small.png", "mediaType": "image/png", "data": PICTURE},
            {"name": "long.png", "mediaType": "image/png", "data": long},
            {"name": "script.svg", "mediaType": "image/svg+xml", "data": script},
            {"name": "elsewhere.png", "mediaType": "image/png", "ref": "https://example.com/x.png"},
            {"name": "broken.png", "mediaType": "image/png", "data": format!("{}\" onerror=alert(1)", &PICTURE[..60])},
        ]);
        writer.event(
            "user_message",
            &place,
            &json!({"text": "Look", "attachments": attachments}),
        );
        writer.event("turn_end", &place, &json!({"outcome": "completed"}));
        let both = BothWays::of(&program, "pictures", writer).await;
        let tab = visit.tab("page").await;
        let mut shown: Vec<String> = Vec::new();
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            tab.wait_for("both pictures", SHORT, "__test.all('.picture__image').filter((image) => image.complete && image.naturalWidth === 8).length === 2").await;
            let names: Vec<String> = tab
                .eval("__test.all('.attachment__name').map((name) => name.textContent)")
                .await;
            assert_eq!(
                names,
                [
                    "small.png",
                    "long.png",
                    "script.svg",
                    "elsewhere.png",
                    "broken.png"
                ]
            );
            shown.push(
                tab.eval("__test.feed().serializeRows({ maskTimes: true })")
                    .await,
            );
        }
        assert_eq!(difference("live and dropped", &shown[0], &shown[1]), None);

        tab.run("__test.one('.picture').focus()").await;
        tab.press("Enter").await;
        tab.wait_for(
            "the picture to be large",
            SHORT,
            "__test.one('.attachment--large .picture')?.getAttribute('aria-expanded') === 'true'",
        )
        .await;
        tab.run("__test.one('.attachment--large .picture').click()")
            .await;
        tab.wait_for("it to be small", SHORT, "!__test.one('.attachment--large')")
            .await;
        assert_asks_nobody_else(&tab);
    });
}

#[test]
fn pictures_of_results_are_shown_the_same_live_and_dropped() {
    with_server("results", 120, async |visit, program| {
        let mut writer = Writer::new("results");
        writer.turn(1);
        let place = json!({"turnId": "t1", "responseId": "r1"});
        let long = format!("{}{}", PICTURE.trim_end_matches('='), "A".repeat(40_000));
        let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
        let results = [
            json!([{"type": "text", "text": "two of them"}, image(PICTURE), image(&long)]),
            json!([{"type": "image", "data": PICTURE, "mimeType": "image/png"}]),
            // None of these is a picture that is here.
            json!([{"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}]),
            json!([{"type": "image", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", "mimeType": "image/svg+xml"}]),
        ];
        for (number, result) in results.iter().enumerate() {
            let id = format!("look-{number}");
            writer.event("tool_call", &place, &json!({"toolCallId": id, "toolName": "Look", "kind": "read", "args": {"file_path": format!("{number}.png")}}));
            writer.event(
                "tool_result",
                &place,
                &json!({"toolCallId": id, "result": result}),
            );
        }
        let both = BothWays::of(&program, "results", writer).await;
        let tab = visit.tab("page").await;
        let mut shown: Vec<String> = Vec::new();
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            tab.run(UNFOLD).await;
            tab.run("for (const row of __test.all('.tool-call')) if (row.textContent.includes('.png')) row.querySelector('[aria-expanded=false]')?.click(); await __test.rest()").await;
            tab.wait_for("the pictures", SHORT, "__test.all('.tool-result .picture__image').filter((image) => image.complete && image.naturalWidth === 8).length === 3").await;
            let text: String = tab
                .eval("__test.all('.tool-result').map((result) => result.textContent).join(' ')")
                .await;
            assert!(
                text.contains("two of them") && text.contains("https://example.com/x.png"),
                "{text}"
            );
            shown.push(
                tab.eval("__test.feed().serializeRows({ maskTimes: true })")
                    .await,
            );
        }
        assert_eq!(difference("live and dropped", &shown[0], &shown[1]), None);
        tab.run("__test.one('.tool-result .picture').focus()").await;
        tab.press("Enter").await;
        tab.wait_for(
            "it to be large",
            SHORT,
            "!!__test.one('.tool-result .attachment--large')",
        )
        .await;
        assert_asks_nobody_else(&tab);
    });
}

/// A tenth of a second of silence.
fn silence() -> Vec<u8> {
    let n_samples = 800_u32;
    let mut wav = b"RIFF".to_vec();
    wav.extend((36 + n_samples).to_le_bytes());
    wav.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    wav.extend(8000_u32.to_le_bytes());
    wav.extend(8000_u32.to_le_bytes());
    wav.extend(b"\x01\0\x08\0data");
    wav.extend(n_samples.to_le_bytes());
    wav.extend(vec![128; n_samples as usize]);
    wav
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let three = |bytes: &[u8]| {
        let bits = bytes
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (24 - 8 * bytes.len());
        (0..4)
            .map(move |at| (at, bits))
            .map({
                let n_bytes = bytes.len();
                move |(at, bits)| match at <= n_bytes {
                    true => char::from(ALPHABET[(bits >> (18 - 6 * at) & 0x3f) as usize]),
                    false => '=',
                }
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(three).collect()
}

#[test]
fn sound_that_the_log_holds_is_played_when_the_reader_asks_and_no_other() {
    with_server("sound", 120, async |visit, program| {
        let mut writer = Writer::new("sound");
        let place = json!({"turnId": "t1", "responseId": "r1"});
        let wav = silence();
        let heard = format!("data:audio/wav;base64,{}", base64(&wav));
        writer.event(
            "user_audio",
            &place,
            &json!({"transcription": "Say it", "durationMs": 100, "audioRef": heard}),
        );
        writer.event(
            "user_audio",
            &json!({"turnId": "t2"}),
            &json!({"transcription": "Elsewhere", "audioRef": "https://example.com/a.wav"}),
        );
        let attachments = json!([
            {"name": "note.wav", "mediaType": "audio/wav", "data": base64(&wav)},
            {"name": "page.wav", "mediaType": "audio/wav", "data": base64(b"<script>alert(1)</script>")},
        ]);
        writer.event(
            "user_message",
            &json!({"turnId": "t3"}),
            &json!({"text": "Listen", "attachments": attachments}),
        );
        // The answer's pieces come in another order than they are numbered.
        for (seq, piece) in [(0, &wav[..300]), (2, &wav[601..]), (1, &wav[300..601])] {
            writer.event(
                "audio_chunk",
                &json!({"turnId": "t3"}),
                &json!({"data": base64(piece), "seq": seq}),
            );
        }
        writer.event(
            "audio_done",
            &json!({"turnId": "t3"}),
            &json!({"durationMs": 100}),
        );
        let both = BothWays::of(&program, "sound", writer).await;
        let tab = visit.tab("page").await;
        let mut shown: Vec<String> = Vec::new();
        for dropped in [false, true] {
            both.show(&tab, dropped).await;
            tab.run(UNFOLD).await;
            tab.wait_for(
                "three buttons",
                SHORT,
                "__test.all('.sound__play').length === 3",
            )
            .await;
            let n_players: usize = tab.eval("__test.all('audio').length").await;
            assert_eq!(n_players, 0, "nothing plays before it is asked for");
            shown.push(
                tab.eval("__test.feed().serializeRows({ maskTimes: true })")
                    .await,
            );
            let before = n_bodies_fetched(&tab);
            for n_played in 1..=3 {
                tab.run("__test.one('.sound__play').focus()").await;
                tab.press("Enter").await;
                let played = format!(
                    "__test.all('audio').filter((sound) => sound.currentTime > 0 && Math.abs(sound.duration - 0.1) < 0.01).length === {n_played}"
                );
                tab.wait_for("it to be heard", SHORT, &played).await;
            }
            let n_fetched = n_bodies_fetched(&tab) - before;
            assert!(n_fetched <= 1, "{n_fetched} bodies were fetched");
        }
        assert_eq!(difference("live and dropped", &shown[0], &shown[1]), None);
        assert_asks_nobody_else(&tab);
    });
}

#[test]
fn a_spoken_answer_is_played_once_all_of_it_is_here() {
    let wav = silence();
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let mut writer = Writer::new("spoken");
    let mut pieces = Vec::new();
    for (seq, piece) in [&wav[..300], &wav[300..601], &wav[601..]]
        .iter()
        .enumerate()
    {
        writer.event(
            "audio_chunk",
            &place,
            &json!({"data": base64(piece), "seq": seq}),
        );
        pieces.push(writer.take());
    }
    writer.event("audio_done", &place, &json!({"durationMs": 100}));
    pieces.push(writer.take());
    on_stage("spoken", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        // A page says by its policy whether it plays sound.
        stage.site.drop_policy();
        stage.enter().await;
        for (n_here, piece) in pieces.iter().enumerate() {
            assert_eq!(
                tab.eval::<usize>("__test.all('.sound__play, audio').length")
                    .await,
                0
            );
            stage.append(piece).await;
            let said = format!("{} piece", (n_here + 1).min(3));
            let here = format!("__test.text(__test.feed()).includes('{said}')");
            tab.wait_for("the piece", SHORT, &here).await;
            stage.rest().await;
        }
        // A browser plays for a key that was pressed, and not for a script.
        tab.run("__test.one('.sound__play').focus()").await;
        tab.press("Enter").await;
        let heard = "__test.all('audio').some((sound) => Math.abs(sound.duration - 0.1) < 0.01 && sound.ended)";
        tab.wait_for("it to be heard", SHORT, heard).await;
        // A piece that comes late does not take it out of the reader's ears, and is heard the next time.
        tab.run("window.sound = __test.one('audio'); window.before = sound.src; sound.currentTime = 0.05")
            .await;
        tab.wait_for("half of it", SHORT, "!sound.seeking && !sound.ended")
            .await;
        writer.event(
            "audio_chunk",
            &place,
            &json!({"data": base64(&[128; 300]), "seq": 3}),
        );
        stage.append(&writer.take()).await;
        let here = "__test.text(__test.feed()).includes('4 pieces')";
        tab.wait_for("the late piece", SHORT, here).await;
        stage.rest().await;
        let as_it_was =
            "__test.one('audio') === sound && sound.src === before && sound.currentTime > 0";
        assert!(tab.eval::<bool>(as_it_was).await);
        tab.run("sound.play()").await;
        let whole = "__test.one('audio').src.length > before.length";
        tab.wait_for("all of it", SHORT, whole).await;
    });
}
