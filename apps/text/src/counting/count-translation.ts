import { GatewayError } from '@gateway/contracts/gateway-error';
import { noteFirstByte } from '../call-notes.ts';
import { type Carrier, unlessRefused } from '../carrier.ts';
import { numberAt, parseObject } from '../json-object.ts';
import { parseBody } from '../protocols/conversation/raw-json.ts';
import { translateRequest } from '../protocols/translate-request.ts';
import type { TextCall } from '../text-call.ts';
import { effectiveBody } from '../translation/effective-body.ts';
import { explainRefusal } from '../translation/explain-refusal.ts';
import { translatedHead } from '../translation/reply-head.ts';
import { targetOf, textProtocolOf } from '../translation/target-of.ts';
import { translatedHeaders } from '../translation/upstream-headers.ts';
import { COUNT_OPERATIONS, COUNTED_MEMBERS, type CountEndpoint } from './count-endpoint.ts';

const MAX_REPLY_BYTES = 65_536;

/** Asks a channel of another protocol how many tokens a request would be there, once it has been translated. */
export function createCountTranslation(call: TextCall, { endpoint, replyBody }: CountEndpoint): Carrier {
  const { context, message, request, model, response, services } = call;
  return {
    request: (candidate) =>
      unlessRefused(() => {
        const protocol = textProtocolOf(candidate);
        const translated = translateRequest({
          caller: endpoint.protocol,
          body: effectiveBody(endpoint.protocol, parseBody(request.bytes.toString())),
          target: targetOf(candidate, model),
          tokens: services.tokens,
        });
        const counted = Object.entries(translated.body).filter(([name]) =>
          COUNTED_MEMBERS[protocol].includes(name),
        );
        return {
          operation: COUNT_OPERATIONS[protocol],
          method: 'POST',
          headers: translatedHeaders(message.headers, false),
          translated: true,
          body: JSON.stringify(Object.fromEntries(counted)),
        };
      }),
    explain: (error, candidate) => explainRefusal(error, endpoint.protocol, textProtocolOf(candidate)),
    relay: async (reply) => {
      const body = parseObject((await reply.bytes(MAX_REPLY_BYTES)).toString());
      const inputTokens = body && numberAt(body, 'input_tokens');
      if (inputTokens === null) {
        throw new GatewayError('upstream_failed', {
          message: 'The upstream did not say how many tokens there are.',
          source: 'upstream',
        });
      }
      response.writeHead(200, translatedHead(reply, context));
      response.end(JSON.stringify(replyBody(inputTokens)));
      noteFirstByte(call, reply);
    },
  };
}
