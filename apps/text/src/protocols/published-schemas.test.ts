import { expect, test } from 'vitest';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { publishedSchema } from '../testing/published-schemas.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { dataOf, planFor, streamFixtures } from '../testing/test-streams.ts';
import { isJsonObject } from '../wire/raw-json.ts';

const DESCRIPTIONS = [
  { description: 'OpenAI', schema: publishedSchema('openai-schemas', 'ResponseStreamEvent') },
  { description: 'Open Responses', schema: publishedSchema('openresponses-schemas', 'StreamEvent') },
];

/** Members in which the live service and its clients are ahead of a description, so that we follow them. */
const AHEAD: Record<string, (event: { [member: string]: unknown }) => boolean> = {
  OpenAI: () => false,
  // Raw reasoning, hosted tools, free-text tools and file citations are OpenAI's alone, and so is `keepalive`.
  'Open Responses': (event) =>
    /reasoning_text|custom_tool_call|web_search_call|"custom_tool_call"|"web_search_call"|"file_citation"/.test(
      JSON.stringify(event),
    ),
};

/**
 * The live service sends null where its description has the member left out (`usage` until the end, `user` always), and
 * error codes that are not in its list.
 */
function asDescribed(event: { [member: string]: unknown }): { [member: string]: unknown } {
  const { response } = event;
  if (!isJsonObject(response)) return event;
  const given = Object.entries(response).filter(
    ([member, value]) => !(value === null && (member === 'usage' || member === 'user')),
  );
  const error = response.error === null ? {} : { error: { message: 'any', code: 'server_error' } };
  return { ...event, response: { ...Object.fromEntries(given), ...error } };
}

const cases = DESCRIPTIONS.flatMap((description) =>
  streamFixtures().map((stream) => ({ ...description, ...stream })),
);

function eventsOf(frames: string): { [member: string]: unknown }[] {
  return dataOf(frames).flatMap((data) => {
    const event: unknown = data === '[DONE]' ? null : JSON.parse(data);
    return isJsonObject(event) ? [event] : [];
  });
}

test.for(cases)(
  'every event made of $name follows the description of $description',
  ({ description, schema, ...stream }) => {
    const plan = planFor('responses', stream.upstream, { quirks: stream.quirks });
    const translator = new StreamTranslator(plan, testReplyContext());
    const frames = [...translator.push(stream.bytes), ...translator.end()].join('');
    for (const event of eventsOf(frames)) {
      if (AHEAD[description]?.(event)) continue;
      const result = schema.safeParse(description === 'OpenAI' ? asDescribed(event) : event);
      if (!result.success)
        throw new Error(`${JSON.stringify(event).slice(0, 400)}: ${result.error.message.slice(0, 1500)}`);
      expect(result.success).toBe(true);
    }
  },
);
