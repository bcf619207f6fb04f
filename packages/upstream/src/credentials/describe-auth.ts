import type { AuthSettings } from '../configuration/auth-entry.ts';

/** What the credentials are, for people: completes "the provider refuses …". Without secrets. */
export function describeAuth(settings: AuthSettings): string {
  switch (settings.type) {
    case 'aws': {
      const who = settings.roleArn ?? (settings.profile === undefined ? null : `profile ${settings.profile}`);
      const own = settings.accessKeyId === undefined ? 'the default chain' : 'the configured keys';
      return `AWS credentials (${who ?? own}; signed for ${settings.service} in ${settings.region})`;
    }
    case 'google':
      return `a Google token (${settings.impersonate ?? settings.credentialsFile ?? 'default credentials'})`;
    case 'entra':
      return `an Entra token (${settings.clientId ?? 'managed identity'}; scope ${settings.scope})`;
    case 'oauth':
      return `a token of ${new URL(settings.tokenUrl).host} (scope ${settings.scope ?? 'none'})`;
  }
}

/** What an operator checks first where the provider refuses them. */
export const ADVICE: Readonly<Record<AuthSettings['type'], string>> = {
  aws: 'check the region, the service and what the IAM policy allows',
  google: 'check that the identity may use the project, such as by the role roles/aiplatform.user',
  entra:
    'check the scope, which the audience of the token follows, and that the identity has a role such as Cognitive Services OpenAI User or Azure AI User on the resource; a new role takes some minutes',
  oauth: 'check the scope, and the audience that the provider expects',
};
