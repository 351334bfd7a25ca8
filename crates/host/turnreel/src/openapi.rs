//! The routes for programs: OpenAPI 3.1, made of the table of routes and what `docs` says of each.
//!
//! What a token must be for stands as `x-scope`; what a path's parameters may be follows from their names. Events are described
//! by their envelope: what is in a payload is for `chat-event`.

mod docs;
mod parameters;
mod schemas;
mod statuses;

use serde_json::{Map, Value, json};

use crate::routes::route_table;
use docs::{DOCS, Doc, JSON};

/// The description, as an object.
pub(crate) fn description() -> Value {
    let mut paths = Map::new();
    for (method, path, scope) in route_table() {
        let shown = path.replace("{*", "{");
        let parameters = parameters(&shown);
        let entry = paths.entry(shown).or_insert_with(|| json!({}));
        let doc = DOCS
            .iter()
            .find(|doc| (doc.method, doc.path) == (method, path));
        let is_public = scope == "public";
        let mut operation = match doc {
            Some(doc) => operation(doc, is_public),
            None => json!({"responses": {}}),
        };
        if !parameters.is_empty() {
            entry["parameters"] = parameters.into();
        }
        if !is_public {
            operation["security"] = json!([{"token": []}]);
            operation["x-scope"] = scope.into();
        }
        entry[method.to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "turnreel",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas::all(),
        },
    })
}

fn operation(doc: &Doc, is_public: bool) -> Value {
    let mut success = json!({"description": doc.summary});
    if let Some((media, name)) = doc.answer {
        let schema = name.map_or_else(|| json!({}), reference);
        success["content"] = json!({media: {"schema": schema}});
    }
    let mut operation = json!({
        "operationId": doc.id,
        "summary": doc.summary,
        "responses": statuses::responses(doc, success, is_public),
    });
    let query = doc.query.iter().map(|(name, schema, what)| {
        let required = *name == "q" && *schema == "Needle";
        let schema = reference(schema);
        json!({"name": name, "in": "query", "description": what, "required": required, "schema": schema})
    });
    let parameters: Vec<Value> = query.chain(parameters::headers(doc.id)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(name) = doc.body {
        let (media, schema) = if name == "bytes" {
            ("application/octet-stream", json!({}))
        } else {
            (JSON, reference(name))
        };
        let content = json!({media: {"schema": schema}});
        // What is deleted may be said by the address.
        let required = doc.method != "DELETE";
        operation["requestBody"] = json!({"required": required, "content": content});
    }
    operation
}

/// The parameters of a path, by their names.
fn parameters(path: &str) -> Vec<Value> {
    let parts = path.split('/');
    let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let schema = match name {
            "session" => json!({"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"}),
            "sha256" => json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    names.map(parameter).collect()
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_route_is_described_and_nothing_else() {
        let routes = route_table().into_iter();
        let routes: BTreeSet<_> = routes.map(|(method, path, _)| (method, path)).collect();
        let docs: BTreeSet<_> = DOCS.iter().map(|doc| (doc.method, doc.path)).collect();
        assert_eq!(docs, routes);
        assert_eq!(docs.len(), DOCS.len(), "a route is described twice");
        let ids: BTreeSet<_> = DOCS.iter().map(|doc| doc.id).collect();
        assert_eq!(ids.len(), DOCS.len(), "two routes have one name");
        let description = description();
        let paths = description["paths"].as_object().unwrap().iter();
        let n_operations: usize = paths
            .map(|(_, path)| path.as_object().unwrap())
            .map(|path| path.keys().filter(|key| *key != "parameters").count())
            .sum();
        assert_eq!(n_operations, routes.len());
    }

    /// What is said of an operation, by its name.
    fn operation_of(id: &str) -> Value {
        operation(DOCS.iter().find(|doc| doc.id == id).unwrap(), false)
    }

    #[test]
    fn parameters_are_those_that_are_taken() {
        let named = |id: &str| {
            let operation = operation_of(id);
            let parameters = operation["parameters"].as_array().cloned();
            let parameters = parameters.unwrap_or_default().into_iter().map(|it| {
                let schema = it["schema"]["$ref"].as_str().unwrap();
                let schema = schema.rsplit('/').next().unwrap().to_owned();
                (it["in"].to_string(), it["name"].to_string(), schema)
            });
            parameters.collect::<Vec<_>>()
        };
        let expected = |all: &[(&str, &str, &str)]| -> Vec<(String, String, String)> {
            let all = all.iter().map(|(place, name, schema)| {
                (
                    json!(place).to_string(),
                    json!(name).to_string(),
                    (*schema).to_owned(),
                )
            });
            all.collect()
        };
        let cursor = "StreamCursor";
        let stream = [
            ("query", "after", cursor),
            ("query", "format", "Format"),
            ("query", "bodies", "Bodies"),
            ("header", "Last-Event-ID", cursor),
        ];
        assert_eq!(named("follow"), expected(&stream));
        assert_eq!(named("followBus"), expected(&[stream[0], stream[3]]));
        assert_eq!(named("socket"), expected(&[("query", "session", "Text")]));
        let sending = [
            ("query", "atomic", "Text"),
            ("header", "Producer-Id", "ProducerId"),
            ("header", "Producer-Epoch", "Count"),
            ("header", "Producer-Seq", "Count"),
        ];
        assert_eq!(named("sendEvents"), expected(&sending));
    }

    #[test]
    fn bodies_are_those_that_are_taken() {
        let schemas = schemas::all();
        let fields = |id: &str| {
            let operation = operation_of(id);
            let body = &operation["requestBody"];
            let name = body["content"][JSON]["schema"]["$ref"].as_str().unwrap();
            let schema = &schemas[name.rsplit('/').next().unwrap()];
            let fields = schema["properties"].as_object().unwrap().keys().cloned();
            let is_closed = schema["additionalProperties"] == false;
            (
                fields.collect::<Vec<_>>(),
                is_closed,
                body["required"] == true,
            )
        };
        let fields_are = |id: &str, all: &[&str], is_closed, is_required| {
            let mut all: Vec<String> = all.iter().map(|it| (*it).to_owned()).collect();
            all.sort();
            let (mut found, closed, required) = fields(id);
            found.sort();
            assert_eq!(
                (found, closed, required),
                (all, is_closed, is_required),
                "{id}"
            );
        };
        fields_are("share", &["expiresInSeconds", "label"], true, true);
        fields_are("unshare", &["id"], true, false);
        fields_are("decide", &["decision", "scope", "message"], false, true);
        fields_are("reply", &["answers", "outcome"], false, true);
        // What the routes refuse beyond.
        assert_eq!(schemas["Needle"]["maxLength"], 200);
        let seconds = &schemas["Share"]["properties"]["expiresInSeconds"];
        assert_eq!(
            (&seconds["minimum"], &seconds["maximum"]),
            (&json!(1), &json!(366 * 86_400))
        );
    }

    #[test]
    fn each_schema_that_is_named_is_there() {
        let description = description();
        let mut named = BTreeSet::new();
        collect(&description, &mut named);
        let there = description["components"]["schemas"].as_object().unwrap();
        let there: BTreeSet<_> = there.keys().cloned().collect();
        assert_eq!(named, there);
    }

    fn collect(value: &Value, named: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                    named.insert(name.rsplit('/').next().unwrap().to_owned());
                }
                fields.values().for_each(|field| collect(field, named));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, named)),
            _ => {}
        }
    }
}
