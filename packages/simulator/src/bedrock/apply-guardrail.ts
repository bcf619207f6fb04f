import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText } from '../json-value.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { invalidConverse } from './check-request.ts';

/** The policy of every guardrail here: it blocks this topic, and masks addresses of e-mail. */
const DENIED = /\bbombs?\b/i;
const EMAIL = /[\w.+-]+@[\w-]+\.[\w.]+/g;
const BLOCKED_TEXT = 'Sorry, the model cannot answer this question.';

/** `POST /guardrail/{id}/version/{version}/apply` of Bedrock's runtime. */
export const applyGuardrail: Handler = (call) => {
  const [id = '', version = ''] = call.params;
  const { source, content } = readJson(call);
  if (!/^[a-z0-9]+$|^arn%3A|^arn:/.test(id)) throw invalidConverse('The guardrail identifier is invalid.');
  if (!/^(?:DRAFT|[1-9]\d{0,7})$/.test(version)) throw invalidConverse('The guardrail version is invalid.');
  if (source !== 'INPUT' && source !== 'OUTPUT')
    throw invalidConverse(
      "Value at 'source' failed to satisfy constraint: Member must satisfy enum value set: [INPUT, OUTPUT]",
    );
  const texts = asList(content).map((block) => asText(asObject(asObject(block).text).text));
  if (texts.length === 0 || texts.includes(''))
    throw invalidConverse("Value at 'content' failed to satisfy constraint: it has no text");
  const units = texts.reduce((sum, text) => sum + Math.ceil(text.length / 1000), 0);
  const usage = { topicPolicyUnits: units, sensitiveInformationPolicyUnits: units };
  const isDenied = texts.some((text) => DENIED.test(text));
  const found = texts.flatMap((text) => text.match(EMAIL) ?? []);
  const assessment = {
    ...(isDenied && {
      topicPolicy: { topics: [{ name: 'weapons', type: 'DENY', action: 'BLOCKED', detected: true }] },
    }),
    ...(found.length > 0 && {
      sensitiveInformationPolicy: {
        piiEntities: found.map((match) => ({ type: 'EMAIL', match, action: 'ANONYMIZED', detected: true })),
        regexes: [],
      },
    }),
  };
  const hasIntervened = isDenied || found.length > 0;
  return jsonReply({
    action: hasIntervened ? 'GUARDRAIL_INTERVENED' : 'NONE',
    ...(hasIntervened && { actionReason: isDenied ? 'Guardrail blocked.' : 'Guardrail masked.' }),
    outputs: outputsOf(texts, { isDenied, hasIntervened }),
    assessments: hasIntervened ? [assessment] : [{}],
    usage,
  });
};

function outputsOf(
  texts: readonly string[],
  { isDenied, hasIntervened }: { readonly isDenied: boolean; readonly hasIntervened: boolean },
): readonly { readonly text: string }[] {
  if (isDenied) return [{ text: BLOCKED_TEXT }];
  return hasIntervened ? texts.map((text) => ({ text: text.replaceAll(EMAIL, '{EMAIL}') })) : [];
}
