interface AdviceRow {
  /** In the words of the identity provider, its package or the machine. */
  readonly words: RegExp;
  readonly advice: string;
}

const CLOCK = "set this machine's clock right";
const REACH = "check that this machine reaches that address, and the channel's proxy";

/** What an operator does about a source that gives no credentials. The first row that fits. */
const ROWS: readonly AdviceRow[] = [
  // Entra ID.
  { words: /AADSTS7000215/, advice: "set auth.clientSecret to the secret's value, not to its id" },
  { words: /AADSTS7000222/, advice: 'the secret has expired: make a new one, and set auth.clientSecret' },
  { words: /AADSTS700016|AADSTS7000216/, advice: 'check auth.clientId and auth.tenantId' },
  { words: /AADSTS90002|AADSTS900023|AADSTS900021/, advice: 'check auth.tenantId' },
  {
    words: /AADSTS700027/,
    advice: "upload the certificate of auth.certificateFile to the application's registration",
  },
  { words: /AADSTS700024/, advice: CLOCK },
  {
    words: /AADSTS7002\d{1,2}\b/,
    advice: "check the issuer, the subject and the audience in the application's federated credential",
  },
  { words: /AADSTS500011|AADSTS70011|AADSTS1002012/, advice: 'check auth.scope' },
  // AWS.
  {
    words: /not authorized to perform: sts:AssumeRole/,
    advice: "allow it in the role's trust policy, for this identity and auth.externalId",
  },
  {
    words: /No OpenIDConnect provider found|InvalidIdentityToken|Incorrect token audience/,
    advice: 'check the identity provider in IAM, and the audience of the token in auth.webIdentityTokenFile',
  },
  {
    words: /ExpiredTokenException.*web identity|Token expired: current date/i,
    advice: 'check what renews the token in auth.webIdentityTokenFile',
  },
  { words: /Signature (?:expired|not yet current)|RequestExpired/, advice: CLOCK },
  {
    words: /security token included in the request is (?:invalid|expired)|InvalidClientTokenId/,
    advice: 'check the access key: AWS does not take it',
  },
  {
    words: /could not (?:be found|resolve credentials using profile)|profile .{0,80}not (?:be )?found/i,
    advice: 'check auth.profile, and the files that AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name',
  },
  {
    words: /SSO session.*(?:expired|invalid)|aws sso login/i,
    advice: 'run aws sso login, or use a source that a server renews by itself',
  },
  {
    words: /Could not load credentials from any providers/,
    advice: 'attach a role to this machine, or set profile, accessKeyId or webIdentityTokenFile',
  },
  // Google.
  {
    words: /iam\.serviceAccounts\.getAccessToken/,
    advice:
      'give the identity the role roles/iam.serviceAccountTokenCreator on the account in auth.impersonate',
  },
  { words: /Invalid JWT Signature/i, advice: 'the key in auth.credentialsFile was deleted: make a new one' },
  { words: /Invalid JWT|reasonable timeframe/i, advice: CLOCK },
  {
    words: /invalid_grant.*account not found/i,
    advice: 'the service account of auth.credentialsFile was deleted',
  },
  {
    words: /Could not load the default credentials/,
    advice: 'attach a service account to this machine, or set auth.credentialsFile',
  },
  {
    words: /IAM Service Account Credentials API has not been used|SERVICE_DISABLED/,
    advice: 'switch on the IAM Service Account Credentials API in the project',
  },
  // This machine, and the way.
  { words: /\bENOENT\b/, advice: 'check the path in auth, and that the file is mounted' },
  { words: /\bEACCES\b|\bEPERM\b/, advice: 'let the gateway read the file' },
  {
    words: /no private key/,
    advice: 'put the private key and the certificate into auth.certificateFile, as PEM',
  },
  {
    words:
      /no answer within|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|Connect Timeout/,
    advice: REACH,
  },
  {
    words: /\bnetwork_error\b/,
    advice: `${REACH}; a managed identity is there on Azure alone`,
  },
  {
    words: /self[- ]signed certificate|unable to (?:verify|get).*certificate/i,
    advice: "trust its authority by the channel's caFile",
  },
];

/** Empty where the reason itself says enough. */
export const credentialAdvice = (reason: string): string =>
  ROWS.find(({ words }) => words.test(reason))?.advice ?? '';
