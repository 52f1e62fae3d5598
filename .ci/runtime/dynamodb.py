"""A client of a DynamoDB on this machine that accepts any credentials. It needs no package."""

import http.client
import json
import threading


class DynamoDB:
    """One connection for each thread."""

    def __init__(self, port):
        self.url, self.port, self.local = f"http://127.0.0.1:{port}", port, threading.local()

    def call(self, operation, **body):
        scope = "Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": f"AWS4-HMAC-SHA256 {scope}"}
        headers |= {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z"}
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self.local.connection.request("POST", "/", json.dumps(body), headers)
        response = self.local.connection.getresponse()
        content = json.load(response)
        assert response.status == 200, f"{operation}: {content}"
        return content

    def scan(self, table):
        """All items."""
        start = {}
        while True:
            page = self.call("Scan", TableName=table, ConsistentRead=True, **start)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def write(self, table, requests):
        """Writes up to 25 items."""
        while requests:
            left = self.call("BatchWriteItem", RequestItems={table: requests})["UnprocessedItems"]
            requests = left.get(table, [])

    def put(self, table, items):
        """Writes items, 25 at a time."""
        batch = []
        for item in items:
            batch.append({"PutRequest": {"Item": item}})
            if len(batch) == 25:
                self.write(table, batch)
                batch = []
        self.write(table, batch)
