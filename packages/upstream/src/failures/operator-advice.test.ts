import { expect, test } from 'vitest';
import { operatorAdvice } from './operator-advice.ts';
import { readProviderError } from './provider-error.ts';

test.for([
  [
    400,
    { message: 'Invocation of model ID x with on-demand throughput isn’t supported. Retry' },
    null,
    /geography/,
  ],
  [
    403,
    { message: "Credential should be scoped to correct service: 'bedrock'." },
    'InvalidSignatureException',
    /auth\.service/,
  ],
  [
    403,
    { message: 'The request signature we calculated does not match' },
    'InvalidSignatureException',
    /clock/,
  ],
  [
    403,
    { message: 'The security token included in the request is invalid.' },
    'UnrecognizedClientException',
    /access key/,
  ],
  [
    429,
    { message: 'Too many tokens, please wait before trying again.' },
    'ThrottlingException',
    /maxOutputTokens/,
  ],
  [
    404,
    { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' } },
    null,
    /deployment's name/,
  ],
  [
    404,
    {
      error: {
        code: 404,
        status: 'NOT_FOUND',
        message:
          'Publisher Model `projects/p/locations/eu/…` was not found or your project does not have access to it.',
      },
    },
    null,
    /location/,
  ],
  [
    403,
    {
      error: {
        code: 403,
        status: 'PERMISSION_DENIED',
        message: 'Vertex AI API has not been used in project 1 before or it is disabled.',
      },
    },
    null,
    /switch on/,
  ],
] as const)('%i %o: the operator is told what to do', ([status, body, code, advice]) => {
  const read = readProviderError(JSON.stringify(body));
  expect(operatorAdvice(status, { ...read, code: read.code ?? code })).toMatch(advice);
});

test('what its own words say needs no advice', () => {
  const read = readProviderError(JSON.stringify({ error: { message: 'Unknown parameter: x' } }));
  expect(operatorAdvice(400, read)).toBe('');
});
