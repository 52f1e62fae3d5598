//! Reads the functions' routes and schedules from a SAM template.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml_ng::Value;

/// The routes and schedules of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Every route of the HTTP API.
    pub routes: Vec<TemplateRoute>,
    /// Every schedule.
    pub schedules: Vec<Schedule>,
}

/// A route and the function that answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRoute {
    /// The gateway's route key, such as `GET /api/v1/roles/{id}` or `$default`.
    pub key: String,
    /// The function's logical id.
    pub function: String,
}

/// A schedule and the function that it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The schedule in `EventBridge`'s syntax, such as `cron(0 0 * * ? *)`.
    pub expression: String,
    /// The function's logical id.
    pub function: String,
}

impl Template {
    /// Reads a template from a file.
    pub fn read(file: &Path) -> Result<Self, String> {
        let path = file.display();
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("{path} cannot be read: {error}."))?;
        Self::parse(&text).map_err(|error| format!("{path}: {error}."))
    }

    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let template: Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
        let resources = template.get("Resources").and_then(Value::as_mapping).ok_or("it has no Resources")?;
        let (mut routes, mut schedules) = (Vec::new(), Vec::new());
        for (name, resource) in resources {
            if string(resource, "Type") != Some("AWS::Serverless::Function") {
                continue;
            }
            let function = name.as_str().ok_or("a resource's name is not a string")?;
            let events = resource.get("Properties").and_then(|properties| properties.get("Events"));
            for (_, event) in events.and_then(Value::as_mapping).into_iter().flatten() {
                let properties = event.get("Properties").unwrap_or(&Value::Null);
                match string(event, "Type") {
                    Some("HttpApi") => {
                        routes.push(TemplateRoute {
                            key: route_key(function, properties)?,
                            function: function.to_owned(),
                        });
                    }
                    Some("ScheduleV2" | "Schedule") => {
                        let expression = string(properties, "ScheduleExpression")
                            .or_else(|| string(properties, "Schedule"));
                        let expression = expression
                            .ok_or_else(|| format!("{function} has a schedule without an expression"))?;
                        schedules.push(Schedule {
                            expression: expression.to_owned(),
                            function: function.to_owned(),
                        });
                    }
                    _ => {}
                }
            }
        }
        let mut seen = BTreeSet::new();
        match routes.iter().find(|route| !seen.insert(&route.key)) {
            Some(duplicate) => Err(format!("the route {} appears twice", duplicate.key)),
            None => Ok(Self { routes, schedules }),
        }
    }
}

fn route_key(function: &str, properties: &Value) -> Result<String, String> {
    match (string(properties, "Method"), string(properties, "Path")) {
        (Some(method), Some(path)) => Ok(format!("{} {path}", method.to_uppercase())),
        (None, None) => Ok("$default".to_owned()),
        _ => Err(format!("{function} has a route with only one of Method and Path")),
    }
}

fn string<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "
Resources:
  Table: {Type: AWS::DynamoDB::Table}
  Roles:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Other.Arn
      Events:
        List: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: get, Path: /roles}}
        Rest: {Type: HttpApi, Properties: {ApiId: !Ref Api}}
        Night: {Type: ScheduleV2, Properties: {ScheduleExpression: cron(0 0 * * ? *)}}
";

    #[test]
    fn routes_and_schedules_are_found() {
        let template = Template::parse(TEMPLATE).unwrap();
        let keys: Vec<_> =
            template.routes.iter().map(|route| (route.key.as_str(), route.function.as_str())).collect();
        assert_eq!(keys, [("GET /roles", "Roles"), ("$default", "Roles")]);
        assert_eq!(template.schedules[0].expression, "cron(0 0 * * ? *)");
    }

    #[test]
    fn invalid_templates_are_rejected_with_a_reason() {
        for (text, reason) in [
            ("Resources: [", "did not find"),
            ("{}", "no Resources"),
            (
                &TEMPLATE.replace(
                    "        Rest: {Type: HttpApi, Properties: {ApiId: !Ref Api}}",
                    "        Again: {Type: HttpApi, Properties: {Method: GET, Path: /roles}}",
                ),
                "GET /roles appears twice",
            ),
            (&TEMPLATE.replace(", Path: /roles", ""), "only one of Method and Path"),
            (&TEMPLATE.replace("ScheduleExpression", "Other"), "without an expression"),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(
            Template::read(Path::new("nowhere.yaml")).unwrap_err().starts_with("nowhere.yaml cannot be read")
        );
    }
}
