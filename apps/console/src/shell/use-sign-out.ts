import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { api } from '../api/client.ts';

/** Ends the session and forgets all that was shown. */
export function useSignOut(): () => void {
  const router = useRouter();
  const queries = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/session'),
    onSettled: async () => {
      await router.navigate({ to: '/sign-in' });
      queries.clear();
    },
  });
  return () => mutate();
}
