/** The least that a service can be: Express reads a body, parses it and passes it on with undici. */
import { pipeline } from 'node:stream/promises';
import express from 'express';
import { Agent, request as send } from 'undici';

const upstreamUrl = process.env.UPSTREAM_URL ?? '';
const dispatcher = new Agent();

const app = express();
app.disable('x-powered-by');
app.set('etag', false);
app.post('/{*path}', async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  JSON.parse(body.toString());
  const reply = await send(upstreamUrl + request.originalUrl, {
    dispatcher,
    method: 'POST',
    headers: { authorization: 'Bearer upstream-key', 'content-type': 'application/json' },
    body,
  });
  response.status(reply.statusCode);
  for (const name of ['content-type', 'content-length']) {
    const value = reply.headers[name];
    if (value !== undefined) response.setHeader(name, value);
  }
  // The load generator leaves in the middle of replies when its time is over.
  await pipeline(reply.body, response).catch(() => undefined);
});
app.listen(Number(process.env.PORT), '127.0.0.1');
