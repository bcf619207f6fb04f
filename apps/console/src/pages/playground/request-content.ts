import * as z from 'zod/mini';
import type { ShownRequest } from '../../api/types.ts';
import type { Desk, DraftName } from './desk.ts';
import { relayGet } from './exchange/relay.ts';

export type Content = Partial<Record<DraftName, string>>;

/** What a request was about: of one that was sent from here, and of a stored response. Null where nothing has it. */
export async function contentOf(desk: Desk, request: ShownRequest): Promise<Content | null> {
  const conversations = [...desk.conversations.live.get().values()].flat();
  const own = [...conversations, ...desk.images.live.get(), ...desk.speech.live.get()].find(
    ({ exchange }) => exchange.live.get().requestId === request.requestId,
  );
  if (own?.exchange.call.body.kind === 'json') {
    const { path, body } = own.exchange.call;
    if (typeof body.json.prompt === 'string') return { 'image-prompt': body.json.prompt };
    if (path === '/v1/audio/speech') return { speech: String(body.json.input) };
    return textContent(body.json);
  }
  const responseId = request.endpoint === 'responses' ? responseIdOf(request.id) : undefined;
  if (responseId === undefined) return null;
  try {
    const sender = { keyId: request.keyId, signal: AbortSignal.timeout(PATIENCE_MS) };
    const path = `/v1/responses/${responseId}`;
    const [response, items] = await Promise.all(
      [path, `${path}/input_items?order=asc&limit=100`].map(async (one) =>
        (await relayGet(one, sender)).json(),
      ),
    );
    const { instructions } = Stored.parse(response);
    return textContent({ instructions, input: Items.parse(items).data });
  } catch {
    // It is not stored, or no more, or belongs to a key that the person may not use.
    return null;
  }
}

const JOB_ID = /^job_([0-9a-f]{32})$/;

/** Of a background response: its record has the id of its job. */
function responseIdOf(id: string): string | undefined {
  const [, own] = JOB_ID.exec(id) ?? [];
  return own && `resp_${own}`;
}

const PATIENCE_MS = 10_000;

const Part = z.object({ text: z.optional(z.string()) });
const Item = z.object({
  role: z.optional(z.string()),
  content: z.optional(z.union([z.string(), z.array(Part)])),
});
const Text = z.optional(z.nullable(z.union([z.string(), z.array(Part)])));
const Body = z.object({
  instructions: Text,
  system: Text,
  input: z.optional(z.union([z.string(), z.array(z.unknown())])),
  messages: z.optional(z.array(z.unknown())),
});
const Stored = z.object({ instructions: Text });
const Items = z.object({ data: z.array(z.unknown()) });

const textOf = (content: z.output<typeof Text>): string =>
  typeof content === 'string' ? content : (content ?? []).flatMap(({ text }) => text ?? []).join('\n');

/** The last message of the user, and the text that precedes the conversation. */
function textContent(json: object): Content | null {
  const body = Body.safeParse(json);
  if (!body.success) return null;
  const { instructions, system, input, messages } = body.data;
  if (typeof input === 'string') return { message: input, system: textOf(instructions) };
  const items = (input ?? messages ?? []).flatMap((item) => {
    const read = Item.safeParse(item);
    return read.success ? [read.data] : [];
  });
  const message = textOf(items.findLast(({ role }) => role === 'user')?.content);
  const first = items.find(({ role }) => role === 'system' || role === 'developer');
  const before = textOf(instructions) || textOf(system) || textOf(first?.content);
  return message === '' ? null : { message, system: before };
}
