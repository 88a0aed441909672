"""
The addresses of the chat; the application that includes them chooses what stands before.
"""

from django.urls import path

from examples.wagtail_site.django_chat import views

app_name = "chat"
urlpatterns = [
    path("", views.index, name="index"),
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/<slug:run>/", views.decide_in_inbox, name="decide_in_inbox"),
    path("setup/", views.setup, name="setup"),
    path("new/", views.send, name="begin"),
    path("new/stream/", views.stream, name="stream_new"),
    path("<slug:conversation>/", views.show, name="show"),
    path("<slug:conversation>/part/", views.part, name="part"),
    path("<slug:conversation>/send/", views.send, name="send"),
    path("<slug:conversation>/stream/", views.stream, name="stream"),
    path("<slug:conversation>/decide/", views.decide, name="decide"),
    path("<slug:conversation>/retry/", views.retry, name="retry"),
    path("<slug:conversation>/cancel/", views.cancel, name="cancel"),
]
