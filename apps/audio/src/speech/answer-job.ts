import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { SpeechOutput } from '@gateway/contracts/jobs';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import { showJobAttempts } from '@gateway/model-service/jobs/job-attempts';
import { contextOf } from '@gateway/service-kit/request/request-context';

/** Answers with stored speech. Resolves when the caller has got all of it. */
export async function writeSpeech(
  assets: Pick<AssetStore, 'open'>,
  output: SpeechOutput,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Delivery> {
  const { assetId, contentType, channel, costMicroUsd, sizeBytes, dropped = [] } = output;
  const context = contextOf(request);
  const { requestId } = context;
  Object.assign(context.line, { channel, costMicroUsd });
  showJobAttempts(output, context, response);
  const asset = await assets.open(assetId);
  if (asset === undefined)
    throw new GatewayError('internal', {
      message: 'The speech was created but cannot be found. Report the request id.',
      retry: false,
      cause: new Error(
        `no asset ${assetId}: do service and worker have the same ASSETS_URL, or share GATEWAY_DATA_DIR?`,
      ),
    });
  response.writeHead(200, {
    'content-type': contentType,
    'content-length': sizeBytes,
    'cache-control': 'no-store',
    'x-request-id': requestId,
    'request-id': requestId,
    'x-gateway-channel': channel,
    ...(dropped.length > 0 && { 'x-gateway-dropped': dropped.join(', ') }),
  });
  await pipeline(asset.stream(), response);
  return 'whole';
}
