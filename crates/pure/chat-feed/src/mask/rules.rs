//! What secrets look like: how those of each service begin and go on, as the services and the lists of secret scanners
//! tell it. What is not listed is found by its name (`context`) or by being random (`entropy`).

use super::runs::Class;

/// A secret that its beginning tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// What it is called.
    pub(super) kind: &'static str,
    /// How it begins: with one of these.
    pub(super) literals: &'static [&'static str],
    /// How it goes on: the whole run of this class is the secret.
    pub(super) class: Class,
    /// How long that run is at least.
    pub(super) least: usize,
    /// What else must hold of the whole.
    pub(super) check: Check,
}

/// What else must hold of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing.
    None,
    /// What follows the beginning looks random.
    Random,
    /// This stands in it.
    Holds(&'static str),
    /// So many characters, not more.
    Exactly(usize),
    /// Both: so many characters, and those that follow look random.
    RandomExactly(usize),
}

const fn shape(
    kind: &'static str,
    literals: &'static [&'static str],
    class: Class,
    least: usize,
) -> Shape {
    Shape {
        kind,
        literals,
        class,
        least,
        check: Check::None,
    }
}

impl Shape {
    const fn checked(self, check: Check) -> Shape {
        Shape { check, ..self }
    }
}

use Class::{Address, Alnum, Base64, Hex, Token, Wide, Word};

/// Secrets by their beginnings.
pub(super) const SHAPES: &[Shape] = &[
    // Where code lies.
    shape(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        Alnum,
        30,
    ),
    shape("github token", &["github_pat_"], Word, 40),
    shape("gitlab token", &["glpat-"], Token, 20),
    shape("gitlab token", &["gldt-"], Word, 20),
    shape("gitlab token", &["glrt-"], Token, 20),
    shape("gitlab token", &["glptt-"], Hex, 40),
    shape("gitlab token", &["glcbt-", "glffct-", "glft-"], Word, 20),
    shape("gitlab token", &["glimt-"], Word, 25),
    shape("gitlab token", &["glagent-"], Word, 50),
    shape("gitlab token", &["gloas-"], Word, 64),
    shape("gitlab token", &["glsoat-", "GR1348941"], Word, 20),
    shape("gitlab session", &["_gitlab_session="], Alnum, 32),
    shape("sourcegraph token", &["sgp_"], Word, 40),
    // Models.
    shape("anthropic key", &["sk-ant-"], Word, 20),
    shape(
        "openai key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        Word,
        20,
    ),
    shape("openrouter key", &["sk-or-"], Word, 20),
    shape("secret key", &["sk-"], Word, 32).checked(Check::Random),
    shape("google key", &["AIza"], Word, 35),
    shape("google secret", &["GOCSPX-"], Word, 28),
    shape("google token", &["ya29."], Token, 30).checked(Check::Random),
    shape("hugging face token", &["hf_", "api_org_"], Alnum, 34),
    shape("perplexity key", &["pplx-"], Alnum, 40),
    shape("groq key", &["gsk_"], Alnum, 40),
    shape("xai key", &["xai-"], Alnum, 40),
    shape("replicate token", &["r8_"], Alnum, 37),
    // Clouds.
    shape("aws key", &["AKIA", "ASIA", "ABIA", "ACCA"], Alnum, 16).checked(Check::Exactly(20)),
    shape("aws bedrock key", &["ABSK"], Base64, 100),
    shape("aws bedrock key", &["bedrock-api-key-"], Base64, 30),
    shape("alibaba key", &["LTAI"], Alnum, 20).checked(Check::Exactly(24)),
    shape(
        "digitalocean token",
        &["doo_v1_", "dop_v1_", "dor_v1_"],
        Hex,
        64,
    ),
    shape("fly token", &["fo1_"], Word, 43),
    shape("fly token", &["fm1a_", "fm1r_", "fm2_"], Base64, 100),
    shape("heroku key", &["HRKU-"], Word, 36),
    shape("cloudflare key", &["v1.0-"], Word, 150),
    shape("scalingo token", &["tk-us-"], Word, 48),
    shape("terraform token", &["atlasv1."], Token, 60),
    shape("vault token", &["hvs."], Word, 20),
    shape("vault token", &["hvb."], Word, 100),
    shape("vault token", &["s."], Alnum, 24).checked(Check::RandomExactly(26)),
    shape("pulumi token", &["pul-"], Hex, 40),
    shape("databricks token", &["dapi"], Hex, 32),
    shape("clickhouse key", &["4b1d"], Alnum, 38),
    shape(
        "planetscale token",
        &["pscale_tkn_", "pscale_oauth_"],
        Token,
        32,
    ),
    shape("planetscale password", &["pscale_pw_"], Token, 32),
    shape("openshift token", &["sha256~"], Word, 43),
    shape("doppler token", &["dp.pt."], Alnum, 40),
    shape("infracost key", &["ico-"], Alnum, 32),
    shape("prefect token", &["pnu_"], Alnum, 36),
    shape("octopus key", &["API-"], Alnum, 26),
    // Packages.
    shape("npm token", &["npm_"], Alnum, 36),
    shape("pypi token", &["pypi-AgEI"], Word, 50),
    shape("rubygems key", &["rubygems_"], Hex, 48),
    shape("clojars token", &["CLOJARS_"], Alnum, 60),
    shape("artifactory key", &["AKCp"], Alnum, 69),
    shape("artifactory token", &["cmVmd"], Alnum, 59),
    shape("crates.io token", &["cio"], Alnum, 32).checked(Check::Exactly(35)),
    shape("docker token", &["dckr_pat_"], Word, 20),
    // Money.
    shape(
        "stripe key",
        &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_"],
        Alnum,
        10,
    ),
    shape("stripe secret", &["whsec_"], Base64, 24),
    shape("square token", &["sq0atp-"], Word, 22),
    shape("square secret", &["sq0csp-"], Word, 40),
    shape("square token", &["EAAA"], Word, 22).checked(Check::Random),
    shape("shopify token", &["shpat_", "shpca_", "shppa_"], Hex, 32),
    shape("shopify secret", &["shpss_"], Hex, 32),
    shape("flutterwave key", &["FLWSECK", "FLWPUBK"], Word, 16),
    shape("easypost key", &["EZAK", "EZTK"], Alnum, 54),
    shape("duffel token", &["duffel_live_", "duffel_test_"], Token, 43),
    shape("shippo token", &["shippo_live_", "shippo_test_"], Hex, 40),
    // People who talk.
    shape("slack token", &["xoxb-", "xoxp-", "xoxe-"], Word, 16),
    shape("slack token", &["xoxe."], Token, 30),
    shape("slack token", &["xoxa-", "xoxr-"], Word, 8),
    shape("slack token", &["xoxs-", "xoxo-", "xapp-"], Word, 16),
    shape(
        "slack address",
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
        ],
        Base64,
        30,
    ),
    shape(
        "teams address",
        &[".webhook.office.com/webhookb2/"],
        Address,
        36,
    ),
    shape("discord address", &["discord.com/api/webhooks/"], Wide, 40),
    shape("sendgrid key", &["SG."], Token, 50),
    shape("sendinblue key", &["xkeysib-"], Word, 64),
    shape("mailgun key", &["key-"], Hex, 32),
    shape("facebook token", &["EAAC", "EAAM"], Alnum, 100),
    // Tools.
    shape("atlassian token", &["ATATT3"], Token, 100),
    shape("grafana token", &["glsa_"], Word, 32),
    shape("grafana token", &["glc_"], Base64, 32),
    shape("sentry token", &["sntrys_"], Wide, 40),
    shape("sentry token", &["sntryu_"], Hex, 64),
    shape("new relic key", &["NRAK-"], Alnum, 27),
    shape("new relic key", &["NRJS-"], Alnum, 19),
    shape("new relic key", &["NRII-"], Word, 32),
    shape("dynatrace token", &["dt0c01."], Token, 60),
    shape("linear key", &["lin_api_"], Alnum, 40),
    shape("notion token", &["ntn_"], Alnum, 40),
    shape("notion token", &["secret_"], Alnum, 43),
    shape("airtable token", &["pat"], Token, 79).checked(Check::Holds(".")),
    shape("postman key", &["PMAK-"], Word, 50),
    shape("readme token", &["rdme_"], Alnum, 70),
    shape("typeform token", &["tfp_"], Token, 40),
    shape("frame.io token", &["fio-u-"], Token, 64),
    shape("intra42 secret", &["s-s4t2ud-", "s-s4t2af-"], Hex, 64),
    shape(
        "settlemint token",
        &["sm_aat_", "sm_pat_", "sm_sat_"],
        Alnum,
        16,
    ),
    shape("adobe secret", &["p8e-"], Alnum, 32),
    shape("defined networking key", &["dnkey-"], Token, 60),
    shape("yandex key", &["AQVN"], Word, 35),
    shape("tailscale key", &["tskey-"], Word, 16),
    shape("harness key", &["pat.", "sat."], Token, 68).checked(Check::Exactly(72)),
    shape(
        "authress key",
        &["sc_", "ext_", "scauth_", "authress_"],
        Wide,
        55,
    )
    .checked(Check::Holds(".acc")),
    shape("twilio key", &["SK"], Hex, 32).checked(Check::Exactly(34)),
    // For any service.
    shape("age key", &["AGE-SECRET-KEY-1"], Alnum, 58),
    shape("1password key", &["A3-"], Word, 30),
    shape("1password token", &["ops_eyJ"], Base64, 250),
    shape("grafana key", &["eyJrIjoi"], Base64, 70),
    shape("json web token", &["ZXlK"], Base64, 44),
    shape("json web token", &["ey"], Wide, 30).checked(Check::Holds(".ey")),
];

/// A secret that the name of its service tells, where it is given as its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// The name, in small letters.
    pub(super) name: &'static str,
    /// What the secret is called.
    pub(super) kind: &'static str,
    pub(super) class: Class,
    /// The lengths that it has.
    pub(super) lengths: &'static [usize],
}

const fn service(
    name: &'static str,
    kind: &'static str,
    class: Class,
    lengths: &'static [usize],
) -> Service {
    Service {
        name,
        kind,
        class,
        lengths,
    }
}

/// Secrets by the names of services, with the lengths that theirs have.
pub(super) const SERVICES: &[Service] = &[
    service("adafruit", "adafruit key", Word, &[32]),
    service("adobe", "adobe id", Hex, &[32]),
    service("airtable", "airtable key", Alnum, &[17]),
    service("algolia", "algolia key", Alnum, &[32]),
    service("alibaba", "alibaba secret", Alnum, &[30]),
    service("asana", "asana secret", Alnum, &[16, 32]),
    service("atlassian", "atlassian token", Alnum, &[24]),
    service("confluence", "atlassian token", Alnum, &[24]),
    service("jira", "atlassian token", Alnum, &[24]),
    service("beamer", "beamer token", Token, &[46]),
    service("bitbucket", "bitbucket secret", Token, &[32, 64]),
    service("bittrex", "bittrex key", Alnum, &[32]),
    service("cloudflare", "cloudflare key", Word, &[37, 40]),
    service("codecov", "codecov token", Alnum, &[32]),
    service("cohere", "cohere key", Alnum, &[40]),
    service("coinbase", "coinbase token", Word, &[64]),
    service("confluent", "confluent key", Alnum, &[16, 64]),
    service("contentful", "contentful token", Token, &[43]),
    service("datadog", "datadog key", Alnum, &[32, 40]),
    service(
        "discord",
        "discord secret",
        Token,
        &[18, 32, 59, 64, 70, 72],
    ),
    service("droneci", "drone token", Alnum, &[32]),
    service("dropbox", "dropbox token", Token, &[15, 64, 138]),
    service("etsy", "etsy token", Alnum, &[24]),
    service("facebook", "facebook secret", Hex, &[32]),
    service("fastly", "fastly token", Token, &[32]),
    service("finicity", "finicity secret", Alnum, &[20, 32]),
    service("finnhub", "finnhub token", Alnum, &[20]),
    service("flickr", "flickr token", Alnum, &[32]),
    service("freshbooks", "freshbooks token", Alnum, &[64]),
    service("gitter", "gitter token", Word, &[40]),
    service("gocardless", "gocardless token", Token, &[45]),
    service("heroku", "heroku key", Word, &[36]),
    service("hubspot", "hubspot key", Word, &[36]),
    service("intercom", "intercom key", Token, &[60]),
    service("jfrog", "jfrog key", Alnum, &[64, 73]),
    service("kraken", "kraken token", Wide, &[80, 88, 90]),
    service("kucoin", "kucoin key", Word, &[24, 36]),
    service("launchdarkly", "launchdarkly token", Token, &[40]),
    service("linear", "linear secret", Hex, &[32]),
    service("linkedin", "linkedin secret", Alnum, &[14, 16]),
    service("lob", "lob key", Word, &[40]),
    service("looker", "looker secret", Alnum, &[20, 24]),
    service("mailchimp", "mailchimp key", Word, &[36, 37]),
    service("mailgun", "mailgun key", Word, &[36, 50]),
    service("mapbox", "mapbox token", Token, &[86]),
    service("mattermost", "mattermost token", Alnum, &[26]),
    service("meraki", "meraki key", Hex, &[40]),
    service("messagebird", "messagebird token", Word, &[25, 36]),
    service(
        "netlify",
        "netlify token",
        Token,
        &[40, 41, 42, 43, 44, 45, 46],
    ),
    service("newrelic", "new relic key", Alnum, &[64]),
    service("nytimes", "new york times key", Token, &[32]),
    service("okta", "okta token", Token, &[42]),
    service("contribsys", "sidekiq secret", Wide, &[17]),
    service("privateai", "private ai key", Alnum, &[32]),
    service("private_ai", "private ai key", Alnum, &[32]),
    service("private-ai", "private ai key", Alnum, &[32]),
    service("plaid", "plaid secret", Word, &[24, 30, 52]),
    service("rapidapi", "rapidapi token", Word, &[50]),
    service("sendbird", "sendbird token", Word, &[36, 40]),
    service("sentry", "sentry token", Hex, &[64]),
    service("snyk", "snyk token", Word, &[36]),
    service("sourcegraph", "sourcegraph token", Hex, &[40]),
    service("sonar", "sonar token", Token, &[40, 44]),
    service("squarespace", "squarespace token", Word, &[36]),
    service("sumo", "sumo logic key", Alnum, &[14, 64]),
    service("telegr", "telegram token", Wide, &[45, 46]),
    service("travis", "travis token", Alnum, &[22]),
    service("twilio", "twilio key", Alnum, &[32, 34]),
    service("twitch", "twitch token", Alnum, &[30]),
    service("twitter", "twitter secret", Alnum, &[25, 45, 50]),
    service("yandex", "yandex key", Word, &[40, 43]),
    service("zendesk", "zendesk secret", Alnum, &[40]),
];
