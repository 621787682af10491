//! rslock behind the protocol of docs/any-language.md, on three servers as in its README.

use rslock::{LockError, LockGuard, LockManager};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc, sync::Mutex, time::Duration};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::timeout;

#[derive(Clone)]
struct Owner {
    manager: LockManager,
    key: String,
    lease: Duration,
    guard: Arc<Mutex<Option<LockGuard>>>,
}

fn answer(request: &Value, mut more: Value) {
    more["id"] = request["id"].clone();
    println!("{more}"); // locks standard output, and flushes at the end of the line
}

fn build(request: &Value, nodes: &[String]) -> Owner {
    let mut manager = LockManager::new(nodes.to_vec());
    let poll = Duration::from_millis(request["poll_ms"].as_u64().unwrap_or(200));
    manager.set_retry(3, poll); // the default: it pauses only between these
    Owner {
        manager,
        key: request["key"].as_str().unwrap().to_owned(),
        lease: Duration::from_millis(request["lease_ms"].as_u64().unwrap()),
        guard: Arc::default(),
    }
}

fn failed(r: &Value, word: &str, text: &str) {
    answer(r, json!({"type": "error", "error": word, "text": text}));
}

async fn serve(r: Value, owner: Owner) {
    let mut once = owner.manager.clone();
    once.set_retry(1, owner.lease);
    let granted = match r["type"].as_str().unwrap() {
        "unlock" => {
            let Some(guard) = owner.guard.lock().unwrap().take() else {
                return failed(&r, "not_held", "no guard");
            };
            guard.release().await; // it doesn't say what the servers had
            return answer(&r, json!({"type": "ok"}));
        }
        "try" => match once.lock(owner.key.as_str(), owner.lease).await {
            Ok(lock) => LockGuard { lock },
            Err(LockError::Unavailable) => return answer(&r, json!({"type": "refused"})),
            Err(e) => return failed(&r, "unknown", &e.to_string()),
        },
        _ => {
            let left = r["deadline_ms"].as_u64().unwrap_or(u32::MAX.into());
            let acquire = owner.manager.acquire(owner.key.as_str(), owner.lease);
            match timeout(Duration::from_millis(left), acquire).await {
                Ok(Ok(guard)) => guard,
                _ => return failed(&r, "deadline", "not acquired in time"),
            }
        }
    };
    *owner.guard.lock().unwrap() = Some(granted);
    answer(&r, json!({"type": "granted"}));
}

#[tokio::main]
async fn main() {
    let mut lines = BufReader::new(stdin()).lines();
    let (mut nodes, mut owners) = (Vec::new(), HashMap::new());
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        match request["type"].as_str().unwrap() {
            "hello" => {
                for node in request["nodes"].as_array().unwrap() {
                    let text = |name: &str| node[name].as_str().unwrap_or_default();
                    let login = match text("password") {
                        "" => String::new(),
                        password => format!("{}:{password}@", text("user")),
                    };
                    nodes.push(format!("redis://{login}{}", text("address")));
                }
                let hello = json!({"type": "hello", "protocol": 1,
                    "library": "rslock 0.10.0", "servers": 3});
                answer(&request, hello);
            }
            "build" => {
                owners.insert(request["owner"].to_string(), build(&request, &nodes));
                answer(&request, json!({"type": "ok"}));
            }
            "cancel" => {} // a caller drops the future, and nothing is released
            _ => {
                let owner: &Owner = &owners[&request["owner"].to_string()];
                tokio::spawn(serve(request, owner.clone()));
            }
        }
    }
    std::process::exit(0); // releases nothing
}
