import type { GatewayError } from '@gateway/contracts/gateway-error';
import { callerNamesIn } from '@gateway/model-service/caller-names';
import type { ContentNote } from '@gateway/model-service/content-log/content-log';
import type { ModelCall, ModelCallServices } from './call-model.ts';

type LoggedCall = Pick<
  ModelCall<never>,
  'endpoint' | 'model' | 'caller' | 'context' | 'identity' | 'names' | 'bytes'
>;

/** What of a call goes to the content log. */
interface CallContent {
  /** For its usage record. */
  readonly note: ContentNote;
  /** It has ended, and its caller knows. */
  end(channel: string | null, ended: { readonly answer: unknown } | { readonly failure: GatewayError }): void;
  /** It was not let in. */
  cancel(): void;
}

/**
 * Null: no rule of the content log applies to the call.
 *
 * @throws {GatewayError} where its caller wants it not to be logged and may not choose
 */
export function openContent(
  { contentLog }: Pick<ModelCallServices, 'contentLog'>,
  { endpoint, model, caller: { headers }, context, identity, names, bytes }: LoggedCall,
): CallContent | null {
  const { requestId } = context;
  const logged = contentLog.begin({ identity, model: model.name, headers, requestId });
  if (logged === null) return null;
  return {
    get note() {
      return logged.note;
    },
    end: (channel, ended) => {
      const error = 'failure' in ended && { code: ended.failure.code, message: ended.failure.message };
      logged.end({
        facts: {
          id: String(context.line.usageId ?? requestId),
          ...{ requestId, keyId: identity.keyId, team: identity.team, endpoint, model: model.name, channel },
          ...callerNamesIn(headers, names),
          ...(error && { error }),
        },
        request: { json: bytes },
        answer: 'answer' in ended ? { value: ended.answer } : null,
        overlong: [],
      });
    },
    cancel: () => logged.cancel(),
  };
}
