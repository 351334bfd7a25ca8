//! Passwords that programs, languages and people tell each in their own way: none of them is in what is written, and words
//! beside which the same signs stand are left.

use chat_event::{ChatEvent, Payload};
use chat_feed::mask::{LiveMasker, Masker, is_masked_of};
use serde_json::json;

use crate::support::mask_live;
use crate::support::mask_plan;
use mask_live::stored_live;
use mask_plan::plan_of;

/// What a result that reads so is written as.
fn masked(text: &str) -> String {
    let line = json!({"id": "e1", "timestamp": 1, "sessionId": "s", "type": "tool_result", "turnId": "t", "responseId": "r",
        "payload": {"toolCallId": "c", "result": text}});
    let event = ChatEvent::from_json(&line.to_string()).expect("an event");
    let line = Masker::new(plan_of(std::slice::from_ref(&event))).line(&event);
    let event: serde_json::Value = serde_json::from_str(&line).expect("a line is JSON");
    let result = event["payload"]["result"].as_str();
    result.expect("the result is a text").to_owned()
}

fn assert_all_masked(texts: &[&str], secret: &str, kind: &str) {
    for text in texts {
        let is = masked(text);
        let expected = text.replace(secret, &format!("[masked: {kind} #1]"));
        assert_ne!(&expected, text, "a secret stands in it");
        assert_eq!(is, expected);
        let expected = text.replace(secret, &format!("[masked: {kind}]"));
        for (at, _) in text.char_indices() {
            let (first, rest) = text.split_at(at);
            let pieces = [first, rest];
            assert_eq!(stored_live(&pieces), expected, "{pieces:?}");
        }
    }
}

#[test]
fn commands_are_given_passwords_by_options_and_arguments() {
    let texts = [
        "http -a ann:hunter2x GET x.test",
        "sqlcmd -S db -U sa -P hunter2x -Q 'select 1'",
        "smbclient //host/share -U ann%hunter2x",
        "openssl enc -aes-256-cbc -k hunter2x -in a",
        "openssl pkcs12 -in a.p12 -passin pass:hunter2x -passout env:OUT",
        "zip -r -P hunter2x a.zip b && unzip a.zip",
        "unzip -P hunter2x a.zip",
        "7z x -phunter2x a.7z",
        "keytool -list -storepass hunter2x -keystore a.jks -keypass hunter2x",
        "mongo -u ann -p hunter2x --authenticationDatabase admin",
        "useradd -m -p hunter2x ann",
        "htpasswd -b .htpasswd ann hunter2x",
        "htpasswd -nbB ann hunter2x",
        "htpasswd -Bbn ann hunter2x > auth/htpasswd 2>err1.txt",
        "net user ann hunter2x /add",
        "wpa_passphrase Home hunter2x",
        "wpa_passphrase \"My Home\" hunter2x",
        "rar a -hphunter2x a.rar b",
        "vault login hunter2x",
        "ipmitool -U ann -P hunter2x chassis status",
        "mosquitto_pub -u ann -P hunter2x -t x",
        "influx -username ann -password hunter2x",
        "gh secret set DB --body hunter2x",
        "gh secret set DB -b 'hunter2x'",
        "setx API_PASSWORD hunter2x",
        "git config --global user.password hunter2x",
    ];
    assert_all_masked(&texts, "hunter2x", "password");
    let keys = ["aws configure set aws_secret_access_key wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY"];
    assert_all_masked(&keys, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY", "secret");
}

#[test]
fn commands_are_given_passwords_by_other_commands() {
    let texts = [
        "echo hunter2x | sudo -S apt update",
        "cd x; echo \"hunter2x\" | sudo -S -u ann ls",
        "echo -n 'hunter2x' | docker login -u ann --password-stdin ghcr.io",
        "docker login --password-stdin -u ann <<< \"hunter2x\"",
        "printf '%s' \"hunter2x\" | gpg --batch --passphrase-fd 0 -d x",
        "echo 'ann:hunter2x' | chpasswd",
        "echo a\u{a0}b\u{3000}hunter2x | sudo -S ls",
    ];
    assert_all_masked(&texts, "hunter2x", "password");
}

#[test]
fn languages_have_places_for_passwords() {
    let texts = [
        "ALTER USER app WITH PASSWORD 'hunter2x';",
        "psql -c \"create role app login password 'hunter2x'\"",
        "CREATE USER 'app'@'%' IDENTIFIED BY 'hunter2x';",
        "ALTER USER app IDENTIFIED WITH mysql_native_password BY 'hunter2x';",
        "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('hunter2x');",
        "machine x.test login ann password hunter2x",
        "machine x.test\nlogin ann\npassword hunter2x\n",
        "default\nlogin ann\npassword hunter2x\n",
        "requests.get(url, auth=('ann', 'hunter2x'))",
        "auth=HTTPBasicAuth(\"ann\", \"hunter2x\")",
        "req.SetBasicAuth(\"ann\", \"hunter2x\")",
        "client.get(url).basic_auth(\"ann\", Some(\"hunter2x\"))",
        "postgres://ann:hunter2x@db/x",
    ];
    assert_all_masked(&texts, "hunter2x", "password");
    assert_all_masked(&["postgres://ann:p@ss:w0rd@db/x"], "p@ss:w0rd", "password");
    let headers = [
        "curl -H 'Authorization: Token abc123' x.test",
        "headers = {\"Authorization\": \"ApiKey abc123\"}",
        "Authorization: abc123",
    ];
    assert_all_masked(&headers, "abc123", "secret");
    let address =
        "https://b.blob.core.windows.net/c?sv=2022-11-02&sig=a9f8c7e6d5b4a3f2c1d0e9f8%2Babc%3D&x=1";
    assert_all_masked(&[address], "a9f8c7e6d5b4a3f2c1d0e9f8%2Babc%3D", "secret");
}

#[test]
fn short_names_tell_passwords_where_nothing_else_has_them() {
    let texts = [
        "DB_PASS=hunter2x",
        "pass=hunter2x",
        "{\"pass\": \"hunter2x\"}",
        "{user: 'ann', pass: 'hunter2x'}",
        "dbPass = \"hunter2x\"",
        "user_pw=hunter2x",
        "psk=\"hunter2x\"",
    ];
    assert_all_masked(&texts, "hunter2x", "password");
    let key = "SECRET_KEY = 'django-insecure-#x8@k2!f9$0w_q1z&v7^m4(t6)y3*r5+e'";
    assert_all_masked(&[key], &key[14..key.len() - 1], "secret");
}

#[test]
fn people_tell_passwords_in_sentences() {
    let texts = [
        "My password is hunter2x.",
        "the password is `hunter2x`, and that's it",
        "password is: hunter2x",
        "Password for ann: hunter2x",
        "Reset the password to **hunter2x**!",
    ];
    assert_all_masked(&texts, "hunter2x", "password");
    let phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let named = [
        format!("MNEMONIC=\"{phrase}\""),
        format!("Your seed phrase:\n\n{phrase}\n"),
    ];
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert_all_masked(&named, phrase, "seed phrase");
}

#[test]
fn a_key_of_putty_goes_line_by_line() {
    let key = "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1\nPrivate-Lines: 2\nAAAAIPq8\nZXsT0aB=\nPrivate-MAC: 00ff\n";
    let is = masked(key);
    assert!(is.contains("Private-Lines: 2\n[masked: private key #1]\n[masked: private key #1]\nPrivate-MAC: 00ff"), "{is}");
    assert!(
        is.contains("AAAAC3NzaC1lZDI1"),
        "what is public stays: {is}"
    );
}

#[test]
fn what_names_a_key_is_left() {
    let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let texts = [
        format!("export GITHUB_TOKEN={key}"),
        format!("1. TOKEN={key}\n2. run it"),
        format!("https://x.test/?access_token={key}&page=2"),
        format!("x={key}"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_all_masked(&texts, key, "github token");
    // Nobody has listed it, and its padding is its own.
    let key = "c2Vj7R9xQmT4vWzK1pLbN8eYdAaFgHuJ3sXo5iCq==";
    let texts = [format!("x={key} y"), format!("x={key}")];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_all_masked(&texts, key, "random text");
    // Too short to be told alone.
    let key = "iK2ZWeqhFWCEPyYngFb51yBMWXaS";
    assert_all_masked(&[&format!("https://x.test/?sid={key}")], key, "random text");
}

#[test]
fn the_same_signs_beside_other_words_are_left() {
    for text in [
        "PASS: src/lib.rs\npass: tests/foo_1.rs\nPASS=12 pass=12/14 pass = 3",
        "bypass=\"ShadowMap1\" compass: 'North1' 120pw",
        "the net user growth increased by 12 percent",
        "The password is base64 encoded, the password is hashed with bcrypt, password is sha256",
        "a password is required; the password is `required`; change the password to something else",
        "rbac.authorization.k8s.io/v1beta1\nAuthorization: required\nauthorization: none",
        "const ACCESS_TOKEN = \"accessToken\"; const API_KEY = 'api-key';",
        "docker run -p 80:80 x; mkdir -p Foo1; unzip a.zip -d Foo1",
        "yup.password('Required').password(\"Needed1\")",
        "mnemonic: the last word of it all",
        "echo hunter2x | sort\ncat report1.txt | sudo -S tee x; sudo -s",
        "echo $PW | sudo -S ls; docker login --password-stdin <<< \"$TOKEN\"",
        "login form password field1",
        "By default login requires password authentication1.",
        "const PASSWORD_ERROR = \"Password must be at least 8 characters\";",
        "echo \"Logging in\" && aws ecr get-login-password --region eu-central-1 | docker login -u AWS --password-stdin x",
        "Authorization: AWS4-HMAC-SHA256 Credential, Authorization: OAuth2",
        "keytool -list -storepass:env MYPASS1 -keystore a; openssl enc -d -in a -kfile key1.bin",
        "-x265-params pass=1:stats=x265.log {\"pass\": \"Passed\"} \"pass\": \"ForwardLit\"",
        "rename field password to `password_hash2`, moved the password to `config/v2.toml`",
        "IDENTIFIED BY :password; WITH PASSWORD '${PW}'",
        "mail ann@x.test and http://x.test/@ann",
        "set key to value; set -e; setx PATH C1",
    ] {
        let is = masked(text);
        let without_mail = is.replace("[masked: e-mail address #1]", "ann@x.test");
        assert_eq!(without_mail, text);
    }
}

#[test]
fn a_diff_that_its_preview_tells_whole_is_whole_once_it_is_masked() {
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let event = |value: serde_json::Value| ChatEvent::from_json(&value.to_string()).unwrap();
    let diff = format!("@@ -1 +1 @@\n-TOKEN=\n+TOKEN={token}\n");
    let edit = |id: &str, n_bytes: usize| {
        event(json!({
            "id": id, "timestamp": 1, "sessionId": "s", "type": "file_edit",
            "payload": {"filePath": ".env", "changeType": "modified", "diffPreview": diff, "fullDiffSize": n_bytes},
        }))
    };
    let (whole, cut) = (edit("a", diff.len()), edit("b", diff.len() + 1));
    let mut masker = LiveMasker::new();
    let mut stored = |sent: &ChatEvent| masker.push(sent.clone()).pop().unwrap();
    for (sent, is_whole) in [(&whole, true), (&cut, false)] {
        let stored = stored(sent);
        let Payload::FileEdit(edit) = &stored.payload else {
            panic!("it is none any more");
        };
        let n_bytes = edit.diff_preview.len() as u64;
        assert!(!stored.to_line().contains(token));
        assert_eq!(
            n_bytes >= edit.full_diff_size,
            is_whole,
            "{}",
            stored.to_line()
        );
        // It is known again where it comes again.
        assert!(is_masked_of(&stored, sent));
        let line = Masker::new(plan_of(std::slice::from_ref(sent))).line(sent);
        let masked = event(serde_json::from_str(&line).unwrap());
        let Payload::FileEdit(edit) = masked.payload else {
            panic!("it is none any more");
        };
        let n_bytes = edit.diff_preview.len() as u64;
        assert_eq!(n_bytes >= edit.full_diff_size, is_whole, "{line}");
    }
}
