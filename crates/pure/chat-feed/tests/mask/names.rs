//! Names of fields and of people that tell what beside them, or they themselves, are.

use super::*;

#[test]
fn names_tell_secrets() {
    for (text, expected) in [
        (
            "export DB_PASSWORD='Tr0ub4dor&3'",
            "export DB_PASSWORD='[masked: password #1]'",
        ),
        (
            "postgres://app:s3cr3t-pw@db.internal/app",
            "postgres://app:[masked: password #1]@db.internal/app",
        ),
        (
            "curl -u admin:Sup3rSecret https://x.test/",
            "curl -u admin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -su admin:Sup3rSecret https://x.test/",
            "curl -su admin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -sSuadmin:Sup3rSecret https://x.test/",
            "curl -sSuadmin:[masked: password #1] https://x.test/",
        ),
        (
            "curl -sS \\\n  -X POST \\\r\n  -u \\\n \"admin:Sup3r Secret\" \\\n  https://x.test/",
            "curl -sS \\\n  -X POST \\\r\n  -u \\\n \"admin:[masked: password #1]\" \\\n  https://x.test/",
        ),
        (
            "curl -u $ME:$PW a; curl --user ann:pass1word b --proxy-user x -u 'ann:pass2word'",
            "curl -u $ME:$PW a; curl --user ann:[masked: password #1] b --proxy-user x -u 'ann:[masked: password #2]'",
        ),
        (
            "curl https://x.test/\nssh -u ann:pass1word",
            "curl https://x.test/\nssh -u ann:pass1word",
        ),
        (
            "Authorization: Bearer abc123def456ghi789jkl",
            "Authorization: Bearer [masked: bearer token #1]",
        ),
        (
            "Authorization: Basic YWRtaW46aHVudGVyMg==",
            "Authorization: Basic [masked: basic credentials #1]",
        ),
        (
            "api_key = \"9f86d081884c7d659a2f\"",
            "api_key = \"[masked: secret #1]\"",
        ),
        (
            "datadog_api_key: 9f86d081884c7d659a2feaa0c55ad015",
            "datadog_api_key: [masked: datadog key #1]",
        ),
        (
            "tool --token 9f86d081884c7d659a2f x",
            "tool --token [masked: secret #1] x",
        ),
        (
            "cd /home/alice/work && ls",
            "cd /home/[masked: user name #1]/work && ls",
        ),
        ("at 203.0.113.7:8080", "at [masked: ip address #1]:8080"),
        // Short ones, and words, where the name leaves no doubt.
        (
            "API_TOKEN=abc123 MAX_TOKEN=409600 CACHE_KEY=v1-deps TOKEN=$(x) API_KEY=YOUR_API_KEY run",
            "API_TOKEN=[masked: secret #1] MAX_TOKEN=409600 CACHE_KEY=v1-deps TOKEN=$(x) API_KEY=YOUR_API_KEY run",
        ),
        (
            "curl -H 'X-Api-Key: abc123' -H 'X-Sort-Key: abc123' x.test",
            "curl -H 'X-Api-Key: [masked: secret #1]' -H 'X-Sort-Key: abc123' x.test",
        ),
        (
            "tool --api-key abc123 --token=xyz789 --secret id=key1 --key 4abc21",
            "tool --api-key [masked: secret #1] --token=[masked: secret #2] --secret id=key1 --key 4abc21",
        ),
        (
            "MY_PASSWORD='correct horse' password = 'Enter it here'",
            "MY_PASSWORD='[masked: password #1]' password = 'Enter it here'",
        ),
        // Options of one letter.
        (
            "mysql -uroot -phunter2 -h db shop; mkdir -p Foo1",
            "mysql -uroot -p[masked: password #1] -h db shop; mkdir -p Foo1",
        ),
        ("mysqldump -p shop1", "mysqldump -p shop1"),
        (
            "sshpass -p 'hunter 2' ssh -p 2222 host",
            "sshpass -p '[masked: password #1]' ssh -p 2222 host",
        ),
        (
            "mysql -e 'select 1; select 2' -p'Tr0ub4dor&3' shop",
            "mysql -e 'select 1; select 2' -p'[masked: password #1]' shop",
        ),
        (
            "redis-cli -h x \\\n  -a hunter2 | ls -a foobar",
            "redis-cli -h x \\\n  -a [masked: password #1] | ls -a foobar",
        ),
        (
            "docker login -u ann -p hunter2 && docker run -p 80:80 x",
            "docker login -u ann -p [masked: password #1] && docker run -p 80:80 x",
        ),
        (
            "sshpass -p $PW ssh; my-mysql -pabc",
            "sshpass -p $PW ssh; my-mysql -pabc",
        ),
    ] {
        let line = told("tool_call", text);
        let expected = Value::String(expected.to_owned()).to_string();
        assert!(line.contains(&expected), "{text}: {line}");
    }
}

#[test]
fn names_of_fields_tell_short_secrets() {
    let call = json!({"toolCallId": "c", "toolName": "run", "args": {
        "env": {"API_TOKEN": "abc123", "SORT_KEY": "abc124", "TOKENS": "abc125"},
        "headers": {"x-api-key": "abc126", "key": "abc127"},
        "argv": ["--token", "abc128", "--secret", "abc129"],
    }});
    let line = masked(&[event(1, "tool_call", &call)]).concat();
    let left = (123..130).filter(|n| line.contains(&format!("abc{n}")));
    assert_eq!(left.collect::<Vec<_>>(), [124, 125, 127, 129], "{line}");
}

/// Texts of a session in which somebody's home folder stands, as they are written.
fn beside_home(home: &str, texts: &[&str]) -> Vec<Value> {
    let mut events = vec![event(
        0,
        "user_message",
        &json!({"text": format!("cd {home}/work")}),
    )];
    let texts = texts.iter().enumerate();
    events.extend(texts.map(|(nth, text)| event(nth + 1, "user_message", &json!({"text": text}))));
    let lines = masked(&events);
    assert!(
        lines[0].contains("[masked: user name #1]/work"),
        "{}",
        lines[0]
    );
    let written = lines[1..].iter();
    written
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).expect("a line");
            event["payload"]["text"].take()
        })
        .collect()
}

#[test]
fn a_name_that_a_home_folder_told_is_masked_wherever_it_stands() {
    let texts = [
        "diff --git a/home/marisol/demo/x b/home/marisol/demo/x",
        "home/marisol/x and ~marisol/x",
        "drwxr-xr-x 2 marisol marisol 4096 Nov  2 10:00 demo",
        "marisol@laptop:~$ whoami\nmarisol",
        "\u{1b}[01;32mmarisol@laptop\u{1b}[00m:~$",
        "{\"out\": \"one\\nmarisol\"}",
        "Ask Marisol, or marisol-backup",
        "marisola and amarisol",
    ];
    let label = "[masked: user name #1]";
    let told = texts.map(|text| match text.starts_with("marisola") {
        true => text.to_owned(),
        false => text.replace("marisol", label).replace("Marisol", label),
    });
    assert_eq!(beside_home("/home/marisol", &texts), told);
    // It came in pieces, before anything told it.
    let mut events: Vec<ChatEvent> = ["by mari", "sol himself"]
        .iter()
        .enumerate()
        .map(|(nth, text)| event(nth, "assistant_chunk", &json!({"text": text, "index": nth})))
        .collect();
    events.push(event(
        3,
        "user_message",
        &json!({"text": "ls /home/marisol"}),
    ));
    let lines = masked(&events);
    assert!(
        lines[0].contains(&format!("by {label}")) && lines[1].contains("\" himself"),
        "{lines:?}"
    );
}

#[test]
fn a_name_that_is_an_ordinary_word_is_masked_where_it_is_a_name() {
    let label = "[masked: user name #1]";
    let names = [
        "--- a/home/dev/demo/x",
        "-rw-r--r--  1 dev dev  120 Nov  2 10:00 dev",
        "total 8\ndrwxr-xr-x+ 2 dev staff 64 Nov  2 10:00 src",
        "dev@laptop:~$ id",
        "uid=1000(dev) gid=1000(dev)",
        "USER=dev",
        "see ~dev/x, C:\\Users\\dev\\x and -home-dev-work",
    ];
    let told = names.map(|text| {
        let kept = text.ends_with(" dev");
        let text = text.replace("dev", label);
        match kept {
            true => format!("{}dev", text.strip_suffix(label).unwrap_or_default()),
            false => text,
        }
    });
    assert_eq!(beside_home("/home/dev", &names), told);
    let words = [
        "npm run dev --dev",
        "the dev server at dev.example",
        "src/dev/x.ts",
        "devs (dev)",
    ];
    assert_eq!(beside_home("/home/dev", &words), words);
    // A kind that is kept is kept everywhere.
    let events = [event(
        0,
        "user_message",
        &json!({"text": "/home/marisol is marisol"}),
    )];
    let mut plan = plan_of(&events);
    plan.keep("user name", true);
    assert_eq!(Masker::new(plan).line(&events[0]), events[0].to_line());
}
