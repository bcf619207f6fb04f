import { SAMPLE_RATE, toneSamples } from '../audio/tone.ts';
import { draw } from '../images/drawing/draw.ts';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { jsonReply, type Reply } from '../replies/reply.ts';
import { withoutDirectives } from '../script/directives.ts';
import { contentText, countInputTokens } from '../tokens.ts';

const TOKENS_OF_IMAGE = 1290;
const TOKENS_OF_SECOND = 25;
const RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'];
const SIDE = 64;

const invalid = (message: string): ProviderError => new ProviderError({ status: 400, message });

const drawn = (text: string, ratio: string): string => {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  const scale = SIDE / Math.max(width, height);
  return draw({
    text,
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
    format: 'png',
    isTransparent: false,
  }).toString('base64');
};

const usageOf = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens,
  reasoningTokens: 0,
});

/** The modality that is requested beside or in place of text; null: none. */
export const mediaWanted = ({ generationConfig }: JsonObject): 'IMAGE' | 'AUDIO' | null => {
  const wanted = asList(asObject(generationConfig).responseModalities);
  return wanted.includes('IMAGE') ? 'IMAGE' : wanted.includes('AUDIO') ? 'AUDIO' : null;
};

/** An image, or speech as PCM without a head, in a part of an answer. */
export function createMedia(model: string, body: JsonObject, wanted: 'IMAGE' | 'AUDIO'): Reply {
  const parts = asList(body.contents).flatMap((content) => asList(asObject(content).parts));
  const text = withoutDirectives(contentText(parts));
  if (text === '') throw invalid('* GenerateContentRequest.contents: contents is not specified');
  const config = asObject(body.generationConfig);
  const inputTokens = countInputTokens(body.systemInstruction, asList(body.contents), []);
  const seconds = Math.max(1, Math.round(text.length / 15));
  if (wanted === 'AUDIO' && !isObject(config.speechConfig))
    throw invalid('Speech needs a speechConfig in the generationConfig.');
  const inlineData =
    wanted === 'IMAGE'
      ? {
          mimeType: 'image/png',
          data: drawn(text, asText(asObject(config.imageConfig).aspectRatio) || '1:1'),
        }
      : {
          mimeType: `audio/L16;codec=pcm;rate=${SAMPLE_RATE}`,
          data: toneSamples(0, seconds * SAMPLE_RATE).toString('base64'),
        };
  const outputTokens = wanted === 'IMAGE' ? TOKENS_OF_IMAGE : seconds * TOKENS_OF_SECOND;
  return jsonReply(
    {
      candidates: [{ content: { role: 'model', parts: [{ inlineData }] }, index: 0, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens,
        totalTokenCount: inputTokens + outputTokens,
      },
      modelVersion: model,
    },
    tokenLedgerEntry(model, usageOf(inputTokens, outputTokens)),
  );
}

/** `:predict` of Imagen. A prompt with the words "forbidden words" is filtered: a 200 that says why. */
export function predictImages(model: string, body: JsonObject): Reply {
  if (!model.startsWith('imagen-'))
    throw new ProviderError({ status: 404, message: `models/${model} is not supported for predict.` });
  const [instance, ...others] = asList(body.instances).map(asObject);
  const { sampleCount, aspectRatio, seed, addWatermark } = asObject(body.parameters);
  const prompt = withoutDirectives(asText(instance?.prompt));
  const count = asNumber(sampleCount) ?? 1;
  if (prompt === '' || others.length > 0) throw invalid('Exactly one instance with a prompt is expected.');
  if (count < 1 || count > 4) throw invalid('sampleCount must be between 1 and 4.');
  if (aspectRatio !== undefined && !RATIOS.includes(asText(aspectRatio)))
    throw invalid(`aspectRatio must be one of ${RATIOS.join(', ')}.`);
  if (seed !== undefined && addWatermark !== false)
    throw invalid('Seed is not supported when watermark is enabled.');
  if (/\bforbidden words\b/i.test(prompt))
    return jsonReply({ predictions: [{ raiFilteredReason: 'Unable to show generated images.' }] });
  const predictions = Array.from({ length: count }, (_, index) => ({
    mimeType: 'image/png',
    bytesBase64Encoded: drawn(`${prompt} ${index}`, asText(aspectRatio) || '1:1'),
  }));
  return jsonReply({ predictions }, tokenLedgerEntry(model, usageOf(0, 0)));
}
