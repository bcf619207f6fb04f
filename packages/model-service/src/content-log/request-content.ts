import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { CallerName } from '@gateway/contracts/usage/caller-names';
import type { UsageSubject } from '@gateway/contracts/usage/usage-record';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request/request-context';
import { callerNamesIn } from '../caller-names.ts';
import type { ContentLog, ContentNote, LoggedContent } from './content-log.ts';
import type { ContentSide } from './content-side.ts';

/** A request of one body that this process answers. */
interface LoggedRequest {
  readonly endpoint: UsageSubject['endpoint'];
  /** The caller's name for it. */
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
  readonly names?: Readonly<Partial<Record<CallerName, string | null>>>;
  readonly identity: Identity;
  readonly context: RequestContext;
  /** The body as its caller sent it. */
  readonly bytes: Uint8Array;
}

/** What of a request goes to the content log. */
export interface RequestContent {
  /** For its usage record. */
  readonly note: ContentNote;
  /** Hooks have put other texts into what its caller has sent: these are logged. */
  replaced(bytes: Uint8Array): void;
  /** It has ended, and its caller knows. */
  end(
    channel: string | null,
    ended: { readonly answer: unknown; readonly failure?: GatewayError | undefined },
  ): void;
  /** It was not let in. */
  cancel(): void;
}

/**
 * Null: no rule of the content log applies to the request.
 *
 * @throws {GatewayError} where its caller wants it not to be logged and may not choose
 */
export function openRequestContent(log: ContentLog, request: LoggedRequest): Promise<RequestContent> | null {
  const { identity, model, headers, context } = request;
  const begun = log.begin({ identity, model, headers, requestId: context.requestId });
  return begun === null ? null : begun.then((logged) => requestContent(logged, request));
}

function requestContent(
  logged: LoggedContent,
  { endpoint, model, headers, names, identity, context, bytes }: LoggedRequest,
): RequestContent {
  const { requestId } = context;
  let asked: ContentSide = { json: bytes };
  return {
    get note() {
      return logged.note;
    },
    replaced: (json) => {
      asked = { json };
    },
    end: (channel, { answer, failure }) => {
      const hasLeft = context.signal.reason instanceof CallerLeft;
      const error = failure ? { code: failure.code, message: failure.message } : hasLeft && LEFT;
      logged.end({
        facts: {
          id: String(context.line.usageId ?? requestId),
          ...{ requestId, keyId: identity.keyId, team: identity.team, endpoint, model, channel },
          ...callerNamesIn(headers, names),
          ...(error && { error }),
          ...(error && answer !== null && { isPartial: true }),
        },
        request: asked,
        answer: answer === null ? null : { value: answer },
        overlong: [],
      });
    },
    cancel: () => logged.cancel(),
  };
}

/** Why an answer is no whole one whose caller did not wait for it. */
export const LEFT = {
  code: 'client_closed_request',
  message: 'The caller left before the end of the answer.',
} as const;
