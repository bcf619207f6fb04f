import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Gateway, startGateway } from './start-gateway.ts';

/** What the checks of the Open Responses specification share: its schemas, its models, and the requests to them. */

const definitions: object = JSON.parse(
  readFileSync(
    new URL('../../apps/text/src/protocols/fixtures/openresponses-schemas.json', import.meta.url),
    'utf8',
  ),
);
const published = (name: string) => z.fromJSONSchema({ ...definitions, $ref: `#/$defs/${name}` });
export const PublishedResponse = published('ResponseResource');
const PublishedEvent = published('StreamEvent');
const PublishedCompaction = published('CompactResource');

const Item = z.looseObject({ type: z.string(), name: z.string().optional() });
/** What is read of a response. */
export const Answer = z.looseObject({
  id: z.string(),
  status: z.string(),
  previous_response_id: z.string().nullable(),
  output: z.array(Item).min(1),
});
export const Event = z.looseObject({
  type: z.string(),
  sequence_number: z.int(),
  item: Item.optional(),
  response: z.unknown().optional(),
});

/** Models whose channels speak Responses, Messages and Chat Completions. */
export const MODELS = ['native', 'over-messages', 'over-chat'];

export const startWithModels = (): Promise<Gateway> =>
  startGateway({
    configuration: (origin) => `
channels:
  native: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] }
models:
  native: { kind: text, routes: [{ channel: native }] }
  over-messages: { kind: text, routes: [{ channel: messages }] }
  over-chat: { kind: text, routes: [{ channel: chat }] }
`,
  });

/** The response at the end of its events; each event is checked against the published schemas. */
export function checkedEvents(sent: readonly unknown[]) {
  const events = sent.map((one) => {
    const event = Event.parse(one);
    expect(PublishedEvent.safeParse(event).error, event.type).toBeUndefined();
    return event;
  });
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  const last = events.at(-1);
  expect(last?.type).toBe('response.completed');
  expect(PublishedResponse.safeParse(last?.response).error).toBeUndefined();
  return { events, response: Answer.parse(last?.response) };
}

/** The window that a conversation is compacted to. */
export async function compact(gateway: Gateway, model: string, input: readonly unknown[]) {
  const reply = await gateway.fetch('/v1/responses/compact', { json: { model, input } });
  const compacted: unknown = await reply.json();
  expect(reply.status, JSON.stringify(compacted)).toBe(200);
  expect(PublishedCompaction.safeParse(compacted).error).toBeUndefined();
  return z.object({ output: z.array(Item) }).parse(compacted).output;
}

export const user = (content: unknown) => ({ type: 'message', role: 'user', content });
