// Streams from a file, read by the AI SDK: each chunk by its schema, all of them by its reader. Prints the messages.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const sdk = createRequire(`${process.argv[3]}/`)("ai");
const streams = JSON.parse(readFileSync(process.argv[2], "utf-8"));
const results = [];

for (const text of streams) {
  const bytes = new Blob([text]).stream();
  const parsed = sdk.parseJsonEventStream({ stream: bytes, schema: sdk.uiMessageChunkSchema });
  const errors = [];
  const chunks = parsed.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!chunk.success) {
          throw chunk.error;
        }
        controller.enqueue(chunk.value);
      },
    }),
  );
  let last = null;
  const messages = sdk.readUIMessageStream({ stream: chunks, onError: (error) => errors.push(String(error.message ?? error)) });
  for await (const message of messages) {
    last = message;
  }
  results.push({ message: last, errors });
}

console.log(JSON.stringify(results));
