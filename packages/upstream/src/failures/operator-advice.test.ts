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
    /secret access key/,
  ],
  [
    403,
    { message: 'Signature expired: 20261127T000000Z is now earlier than 20261127T001000Z' },
    'InvalidSignatureException',
    /clock/,
  ],
  [
    403,
    { message: 'Authentication failed: Please make sure your API Key is valid.' },
    'AccessDeniedException',
    /apiKey/,
  ],
  [
    403,
    { error: { code: '403', message: 'Access denied due to Virtual Network/Firewall rules.' } },
    null,
    /network rules/,
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
  [
    403,
    {
      message:
        'User: arn:aws:sts::1:assumed-role/r is not authorized to perform: bedrock:InvokeModel on resource: x',
    },
    'AccessDeniedException',
    /role's policy/,
  ],
  [
    403,
    { message: 'User: arn:aws:iam::1:user/k is not authorized to perform: bedrock:CallWithBearerToken' },
    'AccessDeniedException',
    /key's user/,
  ],
  [
    403,
    { message: "You don't have access to the model with the specified model ID." },
    'AccessDeniedException',
    /request access/,
  ],
  [
    404,
    { message: 'This model version has reached the end of its life.' },
    'ResourceNotFoundException',
    /newer/,
  ],
  [
    401,
    {
      statusCode: 401,
      message:
        'Unauthorized. Access token is missing, invalid, audience is incorrect (https://ai.azure.com), or have expired.',
    },
    null,
    /auth\.scope/,
  ],
  [
    401,
    {
      error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' },
    },
    null,
    /resource/,
  ],
  [
    403,
    {
      error: {
        code: 'AuthenticationTypeDisabled',
        message: 'Key based authentication is disabled for this resource.',
      },
    },
    null,
    /entra/,
  ],
  [
    403,
    { error: { code: 'PermissionDenied', message: 'The principal lacks the required data action x.' } },
    null,
    /Azure AI User/,
  ],
  [
    400,
    {
      error: {
        code: 'OperationNotSupported',
        message: 'The chatCompletion operation does not work with the specified model, x.',
      },
    },
    null,
    /speaks/,
  ],
  [
    403,
    {
      error: {
        code: 403,
        status: 'PERMISSION_DENIED',
        message: "Permission 'aiplatform.endpoints.predict' denied on resource 'x'.",
      },
    },
    null,
    /aiplatform\.user/,
  ],
] as const)('%i %o: the operator is told what to do', ([status, body, code, advice]) => {
  const read = readProviderError(JSON.stringify(body));
  expect(operatorAdvice(status, { ...read, code: read.code ?? code })).toMatch(advice);
});

test('what its own words say needs no advice', () => {
  const read = readProviderError(JSON.stringify({ error: { message: 'Unknown parameter: x' } }));
  expect(operatorAdvice(400, read)).toBe('');
});
