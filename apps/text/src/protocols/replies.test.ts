import { readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { translateReply } from '../conversion/translate-reply.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { CALLERS, planFor, upstreamOf } from '../testing/test-streams.ts';
import { parseBody } from '../wire/raw-json.ts';

const FOLDER = new URL('./fixtures/replies/', import.meta.url);

const cases = readdirSync(FOLDER)
  .map((file) => file.replace(/\.json$/, ''))
  .sort()
  .flatMap((name) => CALLERS.map((caller) => ({ name, caller })));

/** What a caller gets of an upstream's answer, in a form to read: the body, or the error. */
function outcome(name: string, caller: (typeof CALLERS)[number]): string {
  const upstream = upstreamOf(name);
  const body = parseBody(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
  const shown = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  try {
    const include = ['web_search_call.action.sources'];
    const request = caller === 'responses' ? { include } : {};
    return shown(translateReply(planFor(caller, upstream, { request }), body, testReplyContext()));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return shown({ failed: error.code, message: error.message });
  }
}

test.for(cases)('$name is answered to a caller of $caller as recorded', async ({ name, caller }) => {
  await expect(outcome(name, caller)).toMatchFileSnapshot(`golden/replies/${name}.to-${caller}.json`);
});
