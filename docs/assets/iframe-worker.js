// Search runs in a worker. Browsers start no worker for a page that was opened as a file, so that there, and only there,
// a hidden frame takes its place: it runs the same script, and messages go to and fro as events.
"use strict";

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.unsent = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = address;
      script.onload = () => {
        const unsent = this.unsent;
        this.unsent = null;
        unsent.forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.appendChild(script);
    }

    postMessage(data) {
      if (this.unsent) this.unsent.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
