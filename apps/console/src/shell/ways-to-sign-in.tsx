import { Alert, Button, Divider, SegmentedControl, Skeleton } from '@mantine/core';
import { IconAlertTriangle, IconLogin2 } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { BASE_PATH } from '../api/base-path.ts';
import { api, bodyOf } from '../api/client.ts';
import { signInQuery } from '../api/queries.ts';
import type { OwnSession } from '../api/types.ts';
import { KeyForm, PasswordForm, type SignInBody, TokenForm } from './sign-in-forms.tsx';

const FORMS = { password: PasswordForm, token: TokenForm, key: KeyForm } as const;
type Way = keyof typeof FORMS;
const isWay = (text: string): text is Way => Object.hasOwn(FORMS, text);

const WAYS = [
  { value: 'password', label: 'Password' },
  { value: 'token', label: 'Token' },
  { value: 'key', label: 'Key' },
];

/** Of the form for a token, in pixels. */
const FORM_HEIGHT = 290;

interface WaysToSignInProps {
  /** What went wrong before. */
  readonly problem?: string | undefined;
  /** The console's page that the identity provider leads back to. */
  readonly target: string;
  /** Whether the identity provider opens in another tab, so that this page stays as it is. */
  readonly isApart?: boolean;
  readonly onSignedIn: (session: OwnSession) => void;
}

/** The identity provider, if one is set, a password, if people have one, the admin token, and a key. */
export function WaysToSignIn({ problem, target, isApart = false, onSignedIn }: WaysToSignInProps) {
  const { data: ways, isPending } = useQuery(signInQuery);
  const [chosen, setWay] = useState<Way>();
  const way = chosen ?? (ways?.password ? 'password' : 'token');
  const Form = FORMS[way];
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
      {isPending ? (
        // Which form comes first depends on the answer, and none is taken away from who has begun to type.
        <Skeleton h={FORM_HEIGHT} />
      ) : (
        <>
          <SegmentedControl
            aria-label="Sign in with"
            data={WAYS.filter(({ value }) => value !== 'password' || ways?.password)}
            value={way}
            onChange={(value) => setWay(isWay(value) ? value : undefined)}
          />
          <Form {...form} />
        </>
      )}
    </>
  );
}
