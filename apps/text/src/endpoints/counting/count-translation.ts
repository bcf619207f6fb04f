import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Carrier, unlessRefused } from '../../call/adapter.ts';
import { noteFirstByte } from '../../call/call-notes.ts';
import { targetOf, textProtocolOf } from '../../call/target-of.ts';
import type { TextCall } from '../../call/text-call.ts';
import { translateRequest } from '../../conversion/translate-request.ts';
import { effectiveBody } from '../../translation/effective-body.ts';
import { explainRefusal } from '../../translation/explain-refusal.ts';
import { translatedHead } from '../../translation/reply-head.ts';
import { translatedHeaders } from '../../translation/upstream-headers.ts';
import { numberAt, parseObject } from '../../wire/json-object.ts';
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
          body: effectiveBody(endpoint.protocol, request.content.take()),
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
