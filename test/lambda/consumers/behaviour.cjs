'use strict';

/*
 * What every consumer of this suite does, however it comes by the runtime. It requires nothing, so that it can be bundled in any format.
 *
 * An event may say, beside the options of a call (`timeoutMs`):
 * - `abortAfterMs`: the caller's own signal is aborted then
 * - `leaveAt`: it is aborted at this step of the protocol
 * - `exitAt`: the process ends at this step
 * - `hangs`: the invocation never ends
 * - `throws`: an error is thrown, not reported
 */
module.exports = ({ SharedToken, refresh }) => {
  const { API_URL, AUTH_LIMIT_MS, IGNORES_SIGNAL, TOKEN_ID } = process.env;
  const { threadId } = process.getBuiltinModule('node:worker_threads');
  const observers = new Set();
  let running = 0;

  /** As code does that does not pass the signal on to `fetch`: its answer may come after its limit. */
  const heedless = async (request) => refresh({ ...request, signal: new AbortController().signal });

  const token = new SharedToken(TOKEN_ID, {
    refresh: IGNORES_SIGNAL ? heedless : refresh,
    authLimitMs: Number(AUTH_LIMIT_MS),
    onEvent: (step) => {
      console.log(JSON.stringify({ sharedToken: step }));
      for (const observe of observers) observe(step.type);
    },
  });

  const atStep = (type, act) => {
    const observe = (step) => {
      if (step === type && observers.delete(observe)) act();
    };
    if (type) observers.add(observe);
  };

  const signalFor = ({ abortAfterMs, leaveAt }) => {
    const controller = new AbortController();
    atStep(leaveAt, () => controller.abort());
    return abortAfterMs ? AbortSignal.timeout(abortAfterMs) : controller.signal;
  };

  const callApi = async (accessToken) => {
    const response = await fetch(API_URL, { headers: { authorization: `Bearer ${accessToken}` } });
    await response.arrayBuffer();
    return response;
  };

  return async (event, context) => {
    const { timeoutMs, exitAt, hangs, throws } = event;
    const atOnce = ++running;
    const here = { pid: process.pid, threadId, atOnce };
    atStep(exitAt, () => process.exit(1));
    try {
      const call = token.use(callApi, { timeoutMs, signal: signalFor(event), context: hangs ? undefined : context });
      if (hangs) await new Promise((resolve) => setTimeout(resolve, 600_000));
      return { ...here, status: (await call).status };
    } catch (error) {
      console.error(error);
      if (throws) throw error;
      return { ...here, code: error.code };
    } finally {
      running--;
    }
  };
};
