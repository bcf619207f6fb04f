import { outlineOf } from '@gateway/contracts/json/json-depth';
import type { RequestHooks } from '@gateway/hooks/request-hooks';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Waiting } from '../../large/in-thread.ts';
import { isLarge, MAX_VALUES_HERE } from '../../large/shared-bytes.ts';
import type { TextServices } from '../request/text-call.ts';
import { bodyTexts } from './body-texts.ts';

interface CheckedWith {
  readonly services: Pick<TextServices, 'refusals' | 'maxJsonDepth'>;
  readonly context: RequestContext;
  readonly waiting: Waiting;
}

/**
 * What is put into a stored conversation, with the texts that hooks let pass: requests that continue it are checked with what they
 * have themselves alone.
 *
 * @throws {GatewayError} `guardrail_blocked`, `guardrail_unavailable`
 */
export async function checkedTexts(
  bytes: Buffer,
  hooks: RequestHooks,
  { services, context, waiting }: CheckedWith,
): Promise<Buffer> {
  const isInThread =
    isLarge(bytes.length) || outlineOf(bytes, services.maxJsonDepth).valueCount > MAX_VALUES_HERE;
  try {
    const body = await bodyTexts(bytes, 'request', { ...waiting, isInThread });
    const { found, written } = body;
    const roles = found.map(({ role }) => role);
    const surroundings = hooks.wantsSurroundings ? await body.surroundings() : null;
    let texts: readonly string[] = found.map(({ text }) => text);
    let isReplaced = false;
    for (const check of ['before', 'beside'] as const) {
      const checked = await hooks[check](texts, roles, surroundings);
      if (checked.isBlocked) throw checked.error;
      isReplaced ||= checked.texts !== null;
      texts = checked.texts ?? texts;
    }
    return isReplaced ? await written(texts) : bytes;
  } catch (caught) {
    const error = endedRequest(context) ?? toGatewayError(caught);
    if (error.code === 'guardrail_blocked' && context.identity !== null)
      services.refusals.add('guardrail', context.identity, { scope: 'responses' });
    throw error;
  }
}
