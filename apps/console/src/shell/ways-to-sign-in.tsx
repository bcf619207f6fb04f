import { Alert, Button, Divider, SegmentedControl } from '@mantine/core';
import { IconAlertTriangle, IconLogin2 } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { BASE_PATH } from '../api/base-path.ts';
import { api, bodyOf } from '../api/client.ts';
import { signInQuery } from '../api/queries.ts';
import type { OwnSession } from '../api/types.ts';
import { KeyForm, type SignInBody, TokenForm } from './sign-in-forms.tsx';

const WAYS = [
  { value: 'token', label: 'Token' },
  { value: 'key', label: 'Key' },
];

interface WaysToSignInProps {
  /** What went wrong before. */
  readonly problem?: string | undefined;
  /** The console's page that the identity provider leads back to. */
  readonly target: string;
  /** Whether the identity provider opens in another tab, so that this page stays as it is. */
  readonly isApart?: boolean;
  readonly onSignedIn: (session: OwnSession) => void;
}

/** The identity provider, if one is set, the admin token, and a key. */
export function WaysToSignIn({ problem, target, isApart = false, onSignedIn }: WaysToSignInProps) {
  const [way, setWay] = useState('token');
  const { data: ways } = useQuery(signInQuery);
  const signIn = useMutation({
    mutationFn: (body: SignInBody) => bodyOf(api.POST('/admin/v1/session', { body })),
    onSuccess: onSignedIn,
  });
  const message = signIn.error?.message ?? problem;
  const form = { isPending: signIn.isPending, onSubmit: signIn.mutate };
  return (
    <>
      {message !== undefined && (
        <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
          {message}
        </Alert>
      )}
      {ways?.oidc && (
        <>
          <Button
            component="a"
            href={`${BASE_PATH}/admin/v1/session/oidc?to=${encodeURIComponent(target)}`}
            {...(isApart && { target: '_blank', rel: 'noopener' })}
            leftSection={<IconLogin2 size={18} aria-hidden />}
            fullWidth
            h="auto"
            mih={36}
            py={6}
            styles={{ label: { whiteSpace: 'normal' } }}
          >
            Sign in with {ways.oidc.name}
          </Button>
          <Divider label="or" />
        </>
      )}
      <SegmentedControl aria-label="Sign in with" data={WAYS} value={way} onChange={setWay} />
      {way === 'token' ? <TokenForm {...form} /> : <KeyForm {...form} />}
    </>
  );
}
