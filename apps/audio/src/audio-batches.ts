import type { AssetStore } from '@gateway/assets/asset-store';
import type { SpeechOutput } from '@gateway/contracts/jobs';
import { SpeechRequest } from '@gateway/contracts/openai/speech';
import type { BatchService } from '@gateway/model-service/batch/batch-service';
import { type JobLineEndpoint, noStream } from '@gateway/model-service/batch/line-endpoint';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { AudioService } from './audio-service.ts';
import { estimateSpeech } from './metering/speech-usage.ts';
import { speechCandidates } from './speech/speech-candidates.ts';

/** What batches of audio consist of. Recordings are sent as forms, which a line of JSON cannot hold. */
export const audioBatches = (
  service: AudioService,
): BatchService<'audio.speech' | 'audio.transcription', 'audio.batch'> => ({
  ...service,
  kind: 'audio.batch',
  endpoints: new Map([['/v1/audio/speech', speech(service)]]),
  bodies: { 'audio.speech': (output) => bodyOf(service.assets, output) },
});

const speech = ({ upstream }: AudioService): JobLineEndpoint<'audio.speech'> => ({
  kind: 'audio.speech',
  scope: 'speech',
  usage: 'speech',
  prepare: (body, { identity, strict }) => {
    const requested = validate(SpeechRequest, body);
    const model = modelFor(upstream, { name: requested.model, protocols: ['speech'], identity });
    speechCandidates(upstream, model, requested);
    if (requested.stream_format === 'sse') throw noStream('stream_format');
    const { model: name, ...parameters } = requested;
    return {
      estimate: estimateSpeech(model.price, requested),
      input: async () => ({ model: name, parameters, strict }),
    };
  },
});

/** Bytes are base64 in JSON. */
async function* bodyOf(
  assets: Pick<AssetStore, 'open'>,
  { assetId, contentType }: SpeechOutput,
): AsyncGenerator<string> {
  const asset = await assets.open(assetId);
  if (asset === undefined) throw new Error(`no asset ${assetId}`);
  yield `{"content_type":${JSON.stringify(contentType)},"b64_json":"`;
  for await (const piece of asset.stream().setEncoding('base64')) yield String(piece);
  yield '"}';
}
