//! The organization: plan, limits, usage.

use http::Method;
use serde_json::json;
use shared::model::Mode;
use tests::{BASE_URL, GLOBEX, TestApi};

#[tokio::test]
async fn an_organization_shows_its_plan_and_usage() {
    let api = TestApi::new().await;
    let acme = api.get("/api/v1/organization").await.expect(200);
    assert_eq!(
        acme.body,
        json!({
            "id": 1, "name": "Acme", "slug": "acme", "mode": "live",
            "plan": { "name": "pro", "price_usd_per_month": 99 },
            "limits": { "requests_per_day": null },
            "usage": { "requests_today": 1, "resets_at": "2026-11-21T00:00:00.000Z" },
            "career_portal_url": format!("{BASE_URL}/careers/acme"), "country": null, "time_zone": "UTC",
            "contact_email": null, "created_at": "2026-11-20T09:30:00.000Z"
        })
    );
    assert_eq!((acme.header("ratelimit"), acme.header("ratelimit-policy")), ("", ""));

    for used in 1..=3 {
        let globex =
            api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Test).send().await.expect(200);
        assert_eq!((globex.string("/mode"), globex.string("/slug")), ("test", "globex-test"));
        assert_eq!(globex.body["plan"], json!({ "name": "free", "price_usd_per_month": 0 }));
        assert_eq!(globex.number("/limits/requests_per_day"), 100);
        assert_eq!(globex.number("/usage/requests_today"), used);
    }
}
